//! The names that prost's derive macro uses in place of `prost`, so that messages keep their unknown fields.
//!
//! prost skips a field whose tag it does not know. `cargo xtask proto` therefore gives every struct a
//! field `unknown_fields` and points the derive macro to this module. The macro then implements
//! [`Message`] below, which knows the declared fields only; [`keep_unknown_fields`] implements
//! `prost::Message` on top of it and sends every other tag to [`crate::UnknownFields`]. The macro knows
//! `unknown_fields` as a group (a construct that TensorFlow's messages do not use) of the highest tag:
//! encoded after all others, by [`encoding::group`].
//!
//! Map fields differ from prost's too: see [`encoding::btree_map`].

pub(crate) use prost::{DecodeError, alloc, bytes};

/// The part of `prost::Message` that covers declared fields.
pub(crate) trait Message {
    fn encode_raw(&self, buf: &mut impl bytes::BufMut);

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: encoding::wire_type::WireType,
        buf: &mut impl bytes::Buf,
        ctx: encoding::DecodeContext,
    ) -> Result<(), DecodeError>;

    fn encoded_len(&self) -> usize;

    fn clear(&mut self);
}

/// Implements `prost::Message` for each `path: known | tags`.
macro_rules! keep_unknown_fields {
    ($($message:path: $($tag:literal)|+;)*) => {$(
        impl ::prost::Message for $message {
            fn encode_raw(&self, buf: &mut impl ::prost::bytes::BufMut) {
                $crate::preserving::Message::encode_raw(self, buf);
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: ::prost::encoding::WireType,
                buf: &mut impl ::prost::bytes::Buf,
                ctx: ::prost::encoding::DecodeContext,
            ) -> ::core::result::Result<(), ::prost::DecodeError> {
                match tag {
                    $($tag)|+ => $crate::preserving::Message::merge_field(self, tag, wire_type, buf, ctx),
                    _ => self.unknown_fields.merge_field(tag, wire_type, buf, ctx),
                }
            }

            fn encoded_len(&self) -> usize {
                $crate::preserving::Message::encoded_len(self)
            }

            fn clear(&mut self) {
                $crate::preserving::Message::clear(self);
            }
        }
    )*};
}
pub(crate) use keep_unknown_fields;

/// `prost::encoding` with two modules of our own.
pub(crate) mod encoding {
    pub(crate) use prost::encoding::*;

    /// Stands for the field `unknown_fields`.
    pub(crate) mod group {
        use prost::DecodeError;
        use prost::bytes::{Buf, BufMut};
        use prost::encoding::{DecodeContext, WireType};

        use crate::UnknownFields;

        pub(crate) fn encode(_tag: u32, fields: &UnknownFields, buf: &mut impl BufMut) {
            buf.put_slice(fields.as_bytes());
        }

        pub(crate) fn encoded_len(_tag: u32, fields: &UnknownFields) -> usize {
            fields.as_bytes().len()
        }

        pub(crate) fn merge(
            tag: u32,
            wire_type: WireType,
            fields: &mut UnknownFields,
            buf: &mut impl Buf,
            ctx: DecodeContext,
        ) -> Result<(), DecodeError> {
            fields.merge_field(tag, wire_type, buf, ctx)
        }
    }

    /// Maps, written byte for byte as protobuf's Python implementation (upb) writes them when it is asked
    /// for deterministic output: that is what writes SavedModels and frozen graphs.
    ///
    /// Key and value of an entry are always written (prost leaves out defaults). Strings are in byte
    /// order, except that a string comes after those it is a prefix of; integers descend. Reading accepts anything.
    pub(crate) mod btree_map {
        use std::collections::BTreeMap;
        use std::hash::Hash;

        use prost::bytes::BufMut;
        pub(crate) use prost::encoding::btree_map::merge;
        use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

        /// A type of keys of maps.
        pub(crate) trait Key: Eq + Hash + Ord {
            /// Calls `write` for each entry in the order in which they are written.
            fn for_each<'a, V>(map: &'a BTreeMap<Self, V>, write: impl FnMut((&'a Self, &'a V)))
            where
                Self: Sized;
        }

        impl Key for String {
            fn for_each<'a, V>(map: &'a BTreeMap<String, V>, mut write: impl FnMut((&'a String, &'a V))) {
                // Each waiting key is a prefix of the one above it.
                let mut waiting: Vec<(&String, &V)> = Vec::new();
                for (key, value) in map {
                    while let Some(last) = waiting.pop_if(|(last, _)| !key.starts_with(last.as_str())) {
                        write(last);
                    }
                    waiting.push((key, value));
                }
                waiting.into_iter().rev().for_each(write);
            }
        }

        macro_rules! integer_keys {
            ($($integer:ty)*) => {$(
                impl Key for $integer {
                    fn for_each<'a, V>(map: &'a BTreeMap<$integer, V>, write: impl FnMut((&'a $integer, &'a V))) {
                        map.iter().rev().for_each(write);
                    }
                }
            )*};
        }
        integer_keys! { i32 u32 i64 u64 }

        pub(crate) fn encode<K, V, B, KE, KL, VE, VL>(
            key_encode: KE,
            key_encoded_len: KL,
            val_encode: VE,
            val_encoded_len: VL,
            tag: u32,
            values: &BTreeMap<K, V>,
            buf: &mut B,
        ) where
            K: Key,
            B: BufMut,
            KE: Fn(u32, &K, &mut B),
            KL: Fn(u32, &K) -> usize,
            VE: Fn(u32, &V, &mut B),
            VL: Fn(u32, &V) -> usize,
        {
            K::for_each(values, |(key, value)| {
                encode_key(tag, WireType::LengthDelimited, buf);
                encode_varint((key_encoded_len(1, key) + val_encoded_len(2, value)) as u64, buf);
                key_encode(1, key, buf);
                val_encode(2, value, buf);
            });
        }

        pub(crate) fn encoded_len<K, V, KL, VL>(key_encoded_len: KL, val_encoded_len: VL, tag: u32, values: &BTreeMap<K, V>) -> usize
        where
            KL: Fn(u32, &K) -> usize,
            VL: Fn(u32, &V) -> usize,
        {
            let entries: usize = values
                .iter()
                .map(|(key, value)| {
                    let len = key_encoded_len(1, key) + val_encoded_len(2, value);
                    encoded_len_varint(len as u64) + len
                })
                .sum();
            key_len(tag) * values.len() + entries
        }
    }
}
