//! All frames of a stream: a template for each size, and the order of the sizes.

use std::sync::Arc;

use nodrop_model::{Layer, SignatureForm, SizeOrder, SizeShare, StreamSpec};

use crate::divisor::Divisor;
use crate::{ArrivalCheck, Template, WireError};

/// Maximum length of one cycle of the size order, in frames.
const ORDER_MAX: u64 = 1 << 16;
/// Maximum number of sizes of a stream.
const SIZES_MAX: usize = 256;
/// Maximum offset of the signature in a frame.
const OFFSET_MAX: u16 = 1024;
/// Bytes of an outermost VLAN tag, which the kernel removes before packet sockets see the frame.
const VLAN_TAG_BYTES: usize = 4;

/// All frames of a stream.
#[derive(Clone, Debug)]
pub struct Frames {
    templates: Vec<Template>,
    /// Indices into `templates`; cyclic.
    order: Vec<u16>,
    period: Divisor,
    signature: SignatureForm,
    rx_offsets: Vec<usize>,
    arrival_check: Option<Arc<ArrivalCheck>>,
}

impl Frames {
    /// Build the templates of a stream.
    ///
    /// # Errors
    /// Same as [`Template::new`]; also if there is no size or the order of sizes is too long.
    pub fn new(spec: &StreamSpec) -> Result<Self, WireError> {
        if let Some(&offset) = spec.rx_offsets.iter().find(|&&offset| offset > OFFSET_MAX) {
            return Err(WireError::Offset { offset, largest: OFFSET_MAX });
        }
        let order = order(&spec.sizes, spec.size_order)?;
        let template = |size: &SizeShare| Template::new(spec, usize::from(size.frame_bytes));
        let templates = spec.sizes.iter().map(template).collect::<Result<Vec<_>, _>>()?;
        let rx_offsets = rx_offsets(spec, templates[0].signature_offset());
        let period = Divisor::new(order.len().max(2) as u64);
        let is_checked = !spec.arrival_fields.is_empty();
        let arrival_check = is_checked.then(|| ArrivalCheck::new(&spec.arrival_fields).map(Arc::new)).transpose()?;
        Ok(Self { templates, order, period, signature: spec.signature, rx_offsets, arrival_check })
    }

    /// Combine existing templates in the given order of their indices.
    pub(crate) fn with_order(templates: Vec<Template>, order: Vec<u16>, rx_offsets: Vec<usize>) -> Self {
        let period = Divisor::new(order.len().max(2) as u64);
        Self { templates, order, period, signature: SignatureForm::Payload, rx_offsets, arrival_check: None }
    }

    /// Return the stream's identifier.
    #[must_use]
    pub fn stream_id(&self) -> u16 {
        self.templates[0].stream_id()
    }

    /// Return the form of the signature.
    #[must_use]
    pub fn signature(&self) -> SignatureForm {
        self.signature
    }

    /// Return the templates, one per size.
    #[must_use]
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Return the template of frame `sequence` and its index.
    #[inline]
    #[must_use]
    pub fn template(&self, sequence: u64) -> (usize, &Template) {
        if let [only] = &self.templates[..] {
            return (0, only);
        }
        let turn = usize::from(self.order[self.period.remainder(sequence) as usize]);
        (turn, &self.templates[turn])
    }

    /// Return the length of the longest frame, without FCS.
    #[must_use]
    pub fn frame_len_max(&self) -> usize {
        self.templates.iter().map(|template| template.bytes().len()).max().unwrap_or(0)
    }

    /// Return the offsets at which the signature may begin in a received frame.
    #[must_use]
    pub fn rx_offsets(&self) -> &[usize] {
        &self.rx_offsets
    }

    /// Return the comparison of received frames with what the SUT must have written; None if nothing is known.
    #[must_use]
    pub fn arrival_check(&self) -> Option<&Arc<ArrivalCheck>> {
        self.arrival_check.as_ref()
    }
}

/// Offsets of the signature as sent, as packet sockets see it, and as configured for the SUT.
fn rx_offsets(spec: &StreamSpec, sent: usize) -> Vec<usize> {
    let is_tagged = matches!(spec.layers.get(1), Some(Layer::Vlan(_) | Layer::Qinq(_)));
    let mut offsets: Vec<usize> = arriving_offsets(sent, is_tagged).collect();
    offsets.extend(spec.rx_offsets.iter().map(|offset| usize::from(*offset)));
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Offsets of the signature in a received frame: as sent, and as packet sockets see it.
pub(crate) fn arriving_offsets(sent: usize, is_tagged: bool) -> impl Iterator<Item = usize> {
    is_tagged.then(|| sent - VLAN_TAG_BYTES).into_iter().chain([sent])
}

/// Validate the sizes and return their weights.
pub(crate) fn check_sizes(sizes: &[SizeShare]) -> Result<Vec<u64>, WireError> {
    let weights: Vec<u64> = sizes.iter().map(|size| u64::from(size.weight)).collect();
    let sum: u64 = weights.iter().sum();
    if !(1..=SIZES_MAX).contains(&weights.len()) || weights.contains(&0) || sum > ORDER_MAX {
        return Err(WireError::Sizes { count: weights.len(), weights: sum });
    }
    Ok(weights)
}

fn order(sizes: &[SizeShare], order: SizeOrder) -> Result<Vec<u16>, WireError> {
    let weights = check_sizes(sizes)?;
    let turns =
        weights.iter().zip(0u16..).flat_map(|(weight, size)| (0..*weight).map(move |turn| (turn, *weight, size)));
    let mut turns: Vec<(u64, u64, u16)> = turns.collect();
    if order == SizeOrder::Mixed {
        // Sort by the middle of each turn's share of the cycle, (turn + 1/2) / weight.
        turns.sort_by_key(|(turn, weight, size)| ((2 * turn + 1) * ORDER_MAX * ORDER_MAX / (2 * weight), *size));
    }
    Ok(turns.into_iter().map(|(_, _, size)| size).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(shares: &[(u16, u32)]) -> Vec<SizeShare> {
        shares.iter().map(|&(frame_bytes, weight)| SizeShare { frame_bytes, weight }).collect()
    }

    #[test]
    fn mixed_sizes_are_spread_and_listed_ones_come_in_runs() {
        let imix = sizes(&[(64, 7), (594, 4), (1518, 1)]);
        assert_eq!(order(&imix, SizeOrder::Mixed).unwrap(), [0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0]);
        assert_eq!(order(&imix, SizeOrder::Listed).unwrap(), [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn an_order_without_sizes_or_too_long_is_refused() {
        for wrong in [&[][..], &[(64, 0)], &[(64, 1), (128, 1 << 16)]] {
            assert!(matches!(order(&sizes(wrong), SizeOrder::Mixed), Err(WireError::Sizes { .. })));
        }
    }
}
