//! Types of the running kernel: offsets of structure fields, names of enumeration values.
//!
//! Source: Documentation/bpf/btf.rst. Covers only the lookup of fields and names; parsed once, then dropped.

use std::collections::BTreeSet;

/// File in which the kernel exposes its types.
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
const MAGIC: u16 = 0xEB9F;

const KIND_POINTER: u32 = 2;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_TYPEDEF: u32 = 8;
const KIND_FUNCTION: u32 = 13;
/// Kinds that rename or qualify another type: typedef, volatile, const, restrict, type tag.
const ALIAS_KINDS: [u32; 5] = [KIND_TYPEDEF, 9, 10, 11, 18];
/// Maximum length of a chain of aliases; only a damaged type list with a cycle has more.
const ALIASES_MAX: usize = 64;

/// Parsed type information.
pub(super) struct Btf {
    bytes: Vec<u8>,
    /// Offset of each type; the first is type 1.
    starts: Vec<usize>,
    strings: usize,
}

/// Offset of a field, in bytes from the start of its structure, and its type.
#[derive(Clone, Copy)]
struct Field {
    offset: u32,
    kind: u32,
}

impl Btf {
    /// Parse the types of the running kernel; None if it does not expose them.
    pub(super) fn from_kernel() -> Option<Self> {
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

    /// Return the offset of a field in a structure, by the path of names that leads to it: `net_device`, `nd_net`,
    /// `net`.
    pub(super) fn offset(&self, structure: &str, path: &[&str]) -> Option<u32> {
        let mut id = self.find_type(structure, &[KIND_STRUCT])?;
        let mut offset = 0;
        for name in path {
            let field = self.field(id, name, &mut BTreeSet::new())?;
            offset = field.offset.checked_add(offset)?;
            id = self.resolve_aliases(field.kind);
        }
        Some(offset)
    }

    /// Return the values of an enumeration with their names.
    pub(super) fn enum_values(&self, enumeration: &str) -> Option<Vec<(u32, String)>> {
        let at = self.start(self.find_type(enumeration, &[KIND_ENUM])?)?;
        let entry = |index: usize| {
            let at = at + 12 + 8 * index;
            Some((u32_at(&self.bytes, at + 4)?, self.text(u32_at(&self.bytes, at)?)?.to_owned()))
        };
        (0..self.count(at)?).map(entry).collect()
    }

    /// Return the position of the argument of this type, by value or by pointer, among a tracepoint's arguments.
    pub(super) fn tracepoint_argument(&self, tracepoint: &str, of_type: &str) -> Option<usize> {
        let typedef = self.find_type(&format!("btf_trace_{tracepoint}"), &[KIND_TYPEDEF])?;
        let function = self.pointee(self.resolve_aliases(typedef))?;
        let at = self.start(function).filter(|at| self.kind(*at) == Some(KIND_FUNCTION))?;
        // The first parameter is internal to the kernel.
        (1..self.count(at)?).find_map(|index| {
            let id = self.resolve_aliases(u32_at(&self.bytes, at + 12 + 8 * index + 4)?);
            let id = self.pointee(id).map_or(id, |target| self.resolve_aliases(target));
            (self.name(id)? == of_type).then_some(index - 1)
        })
    }

    fn find_type(&self, name: &str, kinds: &[u32]) -> Option<u32> {
        (1..self.starts.len() as u32).find(|id| {
            self.start(*id).and_then(|at| self.kind(at)).is_some_and(|kind| kinds.contains(&kind))
                && self.name(*id) == Some(name)
        })
    }

    /// Find a member of a structure, including members of anonymous members. `searched` has the structures searched so
    /// far, because in a damaged type list a structure may contain itself.
    fn field(&self, id: u32, member: &str, searched: &mut BTreeSet<u32>) -> Option<Field> {
        let at = self.start(id)?;
        if ![KIND_STRUCT, KIND_UNION].contains(&self.kind(at)?) || !searched.insert(id) {
            return None;
        }
        let has_bit_fields = u32_at(&self.bytes, at + 4)? >> 31 == 1;
        (0..self.count(at)?).find_map(|index| {
            let at = at + 12 + 12 * index;
            let (name, kind) = (self.text(u32_at(&self.bytes, at)?)?, u32_at(&self.bytes, at + 4)?);
            let bits = u32_at(&self.bytes, at + 8)? & if has_bit_fields { 0x00FF_FFFF } else { u32::MAX };
            if name == member {
                return Some(Field { offset: bits / 8, kind });
            }
            let inner =
                if name.is_empty() { self.field(self.resolve_aliases(kind), member, searched)? } else { return None };
            Some(Field { offset: (bits / 8).checked_add(inner.offset)?, kind: inner.kind })
        })
    }

    fn resolve_aliases(&self, mut id: u32) -> u32 {
        for _ in 0..ALIASES_MAX {
            let Some(at) = self.start(id) else { break };
            if !self.kind(at).is_some_and(|kind| ALIAS_KINDS.contains(&kind)) {
                break;
            }
            id = u32_at(&self.bytes, at + 8).unwrap_or(0);
        }
        id
    }

    fn pointee(&self, id: u32) -> Option<u32> {
        let at = self.start(id).filter(|at| self.kind(*at) == Some(KIND_POINTER))?;
        u32_at(&self.bytes, at + 8)
    }

    fn start(&self, id: u32) -> Option<usize> {
        self.starts.get(id as usize).copied().filter(|at| *at > 0)
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(u32_at(&self.bytes, at + 4)? >> 24 & 0x1F)
    }

    /// Return the number of members, values or parameters of a type.
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

    /// Return the length of the kind-specific data after a type's first twelve bytes; None for an unknown kind.
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
        let Some(btf) = Btf::from_kernel() else { return };
        assert_eq!(btf.offset("list_head", &["prev"]), Some(8));
        assert!(btf.offset("sk_buff", &["dev"]).is_some_and(|offset| offset > 0));
        assert!(btf.offset("net_device", &["nd_net", "net"]).is_some());
        assert_eq!(btf.offset("sk_buff", &["no such field"]), None);
        let reasons = btf.enum_values("skb_drop_reason").unwrap();
        assert!(reasons.iter().any(|(_, name)| name == "SKB_DROP_REASON_NETFILTER_DROP"));
        assert_eq!(btf.tracepoint_argument("kfree_skb", "sk_buff"), Some(0));
        assert_eq!(btf.tracepoint_argument("kfree_skb", "skb_drop_reason"), Some(2));
    }

    #[test]
    fn what_is_not_a_list_of_types_is_refused() {
        assert!(Btf::parse(vec![0; 64]).is_none());
        assert!(Btf::parse(Vec::new()).is_none());
    }

    /// A structure with an anonymous member that is the structure itself, behind a typedef of itself.
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
        assert_eq!(btf.resolve_aliases(3), 3);
    }
}
