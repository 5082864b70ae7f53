//! Neighbor solicitations and advertisements with a link-layer address option (RFC 4861 sections 4.3, 4.4, 4.6.1).

use nodrop_model::Nd;

use crate::header::{ChecksumField, Context, Coverage, Header, require_last};
use crate::{MacAddr, WireError};

pub(crate) const SOLICITATION: u8 = 135;
pub(crate) const ADVERTISEMENT: u8 = 136;
/// Flags of an advertisement.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
pub(crate) const SOURCE_ADDRESS_OPTION: u8 = 1;
pub(crate) const TARGET_ADDRESS_OPTION: u8 = 2;

impl Header for Nd {
    fn name(&self) -> &'static str {
        "nd"
    }

    fn bytes(&self) -> usize {
        32
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        require_last(self.name(), context)?;
        let (kind, flags, option) = if self.advertises {
            let solicited = if self.solicited { SOLICITED } else { 0 };
            (ADVERTISEMENT, OVERRIDE | solicited, TARGET_ADDRESS_OPTION)
        } else {
            (SOLICITATION, 0, SOURCE_ADDRESS_OPTION)
        };
        frame.extend_from_slice(&[kind, 0, 0, 0, flags, 0, 0, 0]);
        frame.extend_from_slice(&self.target.octets());
        frame.extend_from_slice(&[option, 1]);
        frame.extend_from_slice(&self.mac.parse::<MacAddr>()?.0);
        Ok(())
    }

    fn checksum(&self, _around: &Context<'_>) -> Option<ChecksumField> {
        Some(ChecksumField { at: 2, cover: Coverage::PseudoAndPacket, zero_is_none: false })
    }
}
