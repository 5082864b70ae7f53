//! The running kernel's own types: where a field lies in a structure, what an enumeration's values are called.
//!
//! Source: Documentation/bpf/btf.rst. Only what is needed to find fields and names; read once, then dropped.

use std::collections::BTreeSet;

/// Where the kernel shows its types.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xEB9F;

const KIND_POINTER: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNCTION: u32 = 13;
/// Kinds that only rename or qualify another type: typedef, volatile, const, restrict, type tag.
const KINDS_SEEN_THROUGH: [u32; 5] = [KIND_TYPEDEF, 9, 10, 11, 18];
/// How many of them in a row: only a broken list has more, one that leads back to where it began.
const SEEN_THROUGH_MAX: usize = 64;

/// The kernel's types.
pub(super) struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins; the first is type 1.
    starts: Vec<usize>,
    strings: usize,
}

/// A field: where it lies, in bytes from the start of its structure, and what it is.
#[derive(Clone, Copy)]
struct Field {
    offset: u32,
    kind: u32,
}

impl Btf {
    /// Types of the running kernel; None where it does not show them.
    pub(super) fn of_kernel() -> Option<Self> {
        Self::parse(std::fs::read(KERNEL_TYPES).ok()?)
    }

    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let header = u32_at(&bytes, 4)? as usize;
        if u32_at(&bytes, 0)? as u16 != MAGIC {
            return None;
        }
        let first = header + u32_at(&bytes, 8)? as usize;
        let end = first + u32_at(&bytes, 12)? as usize;
        let strings = header + u32_at(&bytes, 16)? as usize;
        let mut btf = Self { bytes, starts: vec![0], strings };
        let mut at = first;
        while at < end {
            btf.starts.push(at);
            at += 12 + btf.trailing_bytes(at)?;
        }
        Some(btf)
    }

    /// Offset of a field in a structure, by the names that lead to it: `net_device`, `nd_net`, `net`.
    pub(super) fn offset(&self, structure: &str, path: &[&str]) -> Option<u32> {
        let mut id = self.named(structure, &[KIND_STRUCT])?;
        let mut offset = 0;
        for name in path {
            let field = self.field(id, name, &mut BTreeSet::new())?;
            offset = field.offset.checked_add(offset)?;
            id = self.seen_through(field.kind);
        }
        Some(offset)
    }

    /// Values of an enumeration with their names.
    pub(super) fn values(&self, enumeration: &str) -> Option<Vec<(u32, String)>> {
        let at = self.start(self.named(enumeration, &[KIND_ENUM])?)?;
        let entry = |index: usize| {
            let at = at + 12 + 8 * index;
            Some((u32_at(&self.bytes, at + 4)?, self.text(u32_at(&self.bytes, at)?)?.to_owned()))
        };
        (0..self.count(at)?).map(entry).collect()
    }

    /// Position of the argument of this type, by value or by pointer, in what a tracepoint hands to a program.
    pub(super) fn tracepoint_argument(&self, tracepoint: &str, of_type: &str) -> Option<usize> {
        let typedef = self.named(&format!("btf_trace_{tracepoint}"), &[KIND_TYPEDEF])?;
        let function = self.pointed_at(self.seen_through(typedef))?;
        let at = self.start(function).filter(|at| self.kind(*at) == Some(KIND_FUNCTION))?;
        // The first parameter belongs to the kernel.
        (1..self.count(at)?).find_map(|index| {
            let id = self.seen_through(u32_at(&self.bytes, at + 12 + 8 * index + 4)?);
            let id = self.pointed_at(id).map_or(id, |target| self.seen_through(target));
            (self.name(id)? == of_type).then_some(index - 1)
        })
    }

    fn named(&self, name: &str, kinds: &[u32]) -> Option<u32> {
        (1..self.starts.len() as u32).find(|id| {
            self.start(*id).and_then(|at| self.kind(at)).is_some_and(|kind| kinds.contains(&kind))
                && self.name(*id) == Some(name)
        })
    }

    /// A member of a structure, also one inside of members without a name. `searched` has the structures searched so far:
    /// a broken list may hold one that is within itself.
    fn field(&self, id: u32, wanted: &str, searched: &mut BTreeSet<u32>) -> Option<Field> {
        let at = self.start(id)?;
        if ![KIND_STRUCT, KIND_UNION].contains(&self.kind(at)?) || !searched.insert(id) {
            return None;
        }
        let has_bit_fields = u32_at(&self.bytes, at + 4)? >> 31 == 1;
        (0..self.count(at)?).find_map(|index| {
            let at = at + 12 + 12 * index;
            let (name, kind) = (self.text(u32_at(&self.bytes, at)?)?, u32_at(&self.bytes, at + 4)?);
            let bits = u32_at(&self.bytes, at + 8)? & if has_bit_fields { 0x00FF_FFFF } else { u32::MAX };
            if name == wanted {
                return Some(Field { offset: bits / 8, kind });
            }
            let inner =
                if name.is_empty() { self.field(self.seen_through(kind), wanted, searched)? } else { return None };
            Some(Field { offset: (bits / 8).checked_add(inner.offset)?, kind: inner.kind })
        })
    }

    fn seen_through(&self, mut id: u32) -> u32 {
        for _ in 0..SEEN_THROUGH_MAX {
            let Some(at) = self.start(id) else { break };
            if !self.kind(at).is_some_and(|kind| KINDS_SEEN_THROUGH.contains(&kind)) {
                break;
            }
            id = u32_at(&self.bytes, at + 8).unwrap_or(0);
        }
        id
    }

    fn pointed_at(&self, id: u32) -> Option<u32> {
        let at = self.start(id).filter(|at| self.kind(*at) == Some(KIND_POINTER))?;
        u32_at(&self.bytes, at + 8)
    }

    fn start(&self, id: u32) -> Option<usize> {
        self.starts.get(id as usize).copied().filter(|at| *at > 0)
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(u32_at(&self.bytes, at + 4)? >> 24 & 0x1F)
    }

    /// Members, values or parameters behind the type.
    fn count(&self, at: usize) -> Option<usize> {
        Some((u32_at(&self.bytes, at + 4)? & 0xFFFF) as usize)
    }

    fn name(&self, id: u32) -> Option<&str> {
        self.text(u32_at(&self.bytes, self.start(id)?)?)
    }

    fn text(&self, offset: u32) -> Option<&str> {
        let rest = self.bytes.get(self.strings + offset as usize..)?;
        std::str::from_utf8(rest.split(|byte| *byte == 0).next()?).ok()
    }

    /// Bytes behind a type's first twelve, which depend on its kind; None for a kind of the future.
    fn trailing_bytes(&self, at: usize) -> Option<usize> {
        let count = self.count(at)?;
        match self.kind(at)? {
            1 | 14 | 17 => Some(4),
            3 => Some(12),
            KIND_STRUCT | KIND_UNION | 15 | 19 => Some(12 * count),
            KIND_ENUM | KIND_FUNCTION => Some(8 * count),
            KIND_POINTER | 7..=12 | 16 | 18 => Some(0),
            _ => None,
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields_names_and_arguments_are_found_where_the_kernel_shows_its_types() {
        let Some(btf) = Btf::of_kernel() else { return };
        assert_eq!(btf.offset("list_head", &["prev"]), Some(8));
        assert!(btf.offset("sk_buff", &["dev"]).is_some_and(|offset| offset > 0));
        assert!(btf.offset("net_device", &["nd_net", "net"]).is_some());
        assert_eq!(btf.offset("sk_buff", &["no such field"]), None);
        let reasons = btf.values("skb_drop_reason").unwrap();
        assert!(reasons.iter().any(|(_, name)| name == "SKB_DROP_REASON_NETFILTER_DROP"));
        assert_eq!(btf.tracepoint_argument("kfree_skb", "sk_buff"), Some(0));
        assert_eq!(btf.tracepoint_argument("kfree_skb", "skb_drop_reason"), Some(2));
    }

    #[test]
    fn what_is_not_a_list_of_types_is_refused() {
        assert!(Btf::parse(vec![0; 64]).is_none());
        assert!(Btf::parse(Vec::new()).is_none());
    }

    /// A structure whose member without a name is itself, behind a typedef of itself.
    #[test]
    fn a_structure_within_itself_is_searched_once() {
        let types = [2, KIND_STRUCT << 24 | 1, 8, 1, 2, 0, 0, KIND_TYPEDEF << 24, 1, 0, KIND_TYPEDEF << 24, 3];
        let names = b"\0\0outer\0";
        let size = types.len() as u32 * 4;
        let header = [u32::from(MAGIC), 24, 0, size, size, names.len() as u32];
        let words = header.into_iter().chain(types);
        let bytes = words.flat_map(u32::to_ne_bytes).chain(names.iter().copied()).collect();
        let btf = Btf::parse(bytes).unwrap();
        assert_eq!(btf.offset("outer", &["inner"]), None);
        assert_eq!(btf.seen_through(3), 3);
    }
}
