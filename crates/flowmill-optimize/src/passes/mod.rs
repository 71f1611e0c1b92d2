//! The passes, one a file.

pub(crate) mod channels_last;
pub(crate) mod fold_batch_norm;
pub(crate) mod fold_constants;
pub(crate) mod fold_dilation;
pub(crate) mod fold_padding;
pub(crate) mod fuse_elementwise;
pub(crate) mod fuse_epilogues;
pub(crate) mod fuse_gelu;
pub(crate) mod fuse_layer_norm;
pub(crate) mod hoist_common_factor;
pub(crate) mod hoist_products;
pub(crate) mod inline_calls;
pub(crate) mod lower_case;
pub(crate) mod lower_if;
pub(crate) mod lower_while;
pub(crate) mod merge_duplicates;
pub(crate) mod prune;
pub(crate) mod remove_identities;
