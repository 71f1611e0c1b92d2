//! Reads and writes the elements of one tensor in a data file.
//!
//! Dense elements lie one after the other. Strings lie as `length: varint` for each, a masked CRC-32C of the
//! lengths, then the bytes of all of them. The lengths enter checksums as 4 bytes, or 8 if they need it.
//!
//! Variants lie one after the other as `length: varint`, a `VariantTensorDataProto`, and a masked CRC-32C of everything so far. Only variants in
//! their wire form, [`EncodedVariant`], are saved, and reading returns no others.

use bytes::Bytes;
use flowmill_proto::wire::{take, take_u32};
use flowmill_proto::{Message, VariantTensorDataProto, encode_varint};
use flowmill_tensor::{DType, EncodedVariant, Error, Result, Shape, Tensor, Variant, bail};

use crate::wire::{mask, take_len};

/// The byte order of the machine that wrote a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Makes the tensor whose elements are the `len` bytes that `read` writes.
///
/// # Errors
/// `DataLoss` if the bytes do not match `stored_crc` or the shape, and those of `read`.
pub(crate) fn decode(
    dtype: DType,
    shape: Shape,
    len: usize,
    order: ByteOrder,
    stored_crc: u32,
    read: impl FnOnce(&mut [u8]) -> Result<()>,
) -> Result<Tensor> {
    if dtype == DType::String {
        let mut bytes = vec![0; len];
        read(&mut bytes)?;
        return decode_strings(shape, &bytes.into(), order, stored_crc);
    }
    if dtype == DType::Variant && order == ByteOrder::Little {
        let mut bytes = vec![0; len];
        read(&mut bytes)?;
        return decode_variants(shape, &bytes, stored_crc);
    }
    let Some(size) = dtype.size() else {
        bail!(Unimplemented, "reading tensors of type {dtype}");
    };
    if shape.checked_num_elements()?.checked_mul(size) != Some(len) {
        bail!(DataLoss, "{len} bytes for a tensor of type {dtype} and shape {shape}");
    }
    let word = if dtype.is_complex() { size / 2 } else { size };
    Tensor::filled_by(dtype, shape, |bytes| {
        read(bytes)?;
        check_crc(stored_crc, mask(crc32c::crc32c(bytes)))?;
        if order == ByteOrder::Big && word > 1 {
            bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
        }
        Ok(())
    })
}

fn decode_strings(shape: Shape, bytes: &Bytes, order: ByteOrder, stored_crc: u32) -> Result<Tensor> {
    let num_elements = shape.checked_num_elements()?;
    if num_elements > bytes.len() {
        bail!(DataLoss, "{} bytes for {num_elements} strings", bytes.len());
    }
    let corrupt = || Error::data_loss("the lengths of strings do not match their bytes");
    let mut rest = &bytes[..];
    let mut crc = 0;
    let mut lens = Vec::with_capacity(num_elements);
    for _ in 0..num_elements {
        let len = take_len(&mut rest).ok_or_else(corrupt)?;
        crc = crc_of_len(crc, len as u64, order);
        lens.push(len);
    }
    let crc_bytes = rest.get(..4).ok_or_else(corrupt)?;
    let lens_crc = take_u32(&mut rest).ok_or_else(corrupt)?;
    let lens_crc = if order == ByteOrder::Big { lens_crc.swap_bytes() } else { lens_crc };
    if lens_crc != mask(crc) {
        bail!(DataLoss, "The length checksum does not match: expected {lens_crc:08x} but got {:08x}", mask(crc));
    }
    crc = crc32c::crc32c_append(crc, crc_bytes);
    check_crc(stored_crc, mask(crc32c::crc32c_append(crc, rest)))?;
    let mut values = Vec::with_capacity(num_elements);
    let mut start = bytes.len() - rest.len();
    for len in lens {
        let end = start.checked_add(len).filter(|&end| end <= bytes.len()).ok_or_else(corrupt)?;
        values.push(bytes.slice(start..end));
        start = end;
    }
    if start != bytes.len() {
        return Err(corrupt());
    }
    Tensor::from_strings(shape, values)
}

fn decode_variants(shape: Shape, mut rest: &[u8], stored_crc: u32) -> Result<Tensor> {
    let num_elements = shape.checked_num_elements()?;
    if num_elements > rest.len() {
        bail!(DataLoss, "{} bytes for {num_elements} variants", rest.len());
    }
    let corrupt = || Error::data_loss("the lengths of variants do not match their bytes");
    let mut crc = 0;
    let mut values = Vec::with_capacity(num_elements);
    for _ in 0..num_elements {
        let len = take_len(&mut rest).ok_or_else(corrupt)?;
        let bytes = take(&mut rest, len).ok_or_else(corrupt)?;
        crc = crc32c::crc32c_append(crc32c::crc32c_append(crc, &(len as u64).to_le_bytes()), bytes);
        let stored = take_u32(&mut rest).ok_or_else(corrupt)?;
        check_crc(stored, mask(crc))?;
        crc = crc32c::crc32c_append(crc, &stored.to_le_bytes());
        let Ok(proto) = VariantTensorDataProto::decode(bytes) else { bail!(DataLoss, "a variant is not a VariantTensorDataProto") };
        let tensors = proto.tensors.iter().map(Tensor::from_proto).collect::<Result<_>>()?;
        values.push(Variant::new(EncodedVariant { type_name: proto.type_name, metadata: proto.metadata, tensors }));
    }
    if !rest.is_empty() {
        return Err(corrupt());
    }
    check_crc(stored_crc, mask(crc))?;
    Tensor::from_variants(shape, values)
}

/// Returns the bytes of variants and their checksum, which is not masked.
fn encode_variants(variants: &[Variant]) -> Result<(Vec<u8>, u32)> {
    let (mut bytes, mut crc) = (Vec::new(), 0);
    for variant in variants {
        let Some(EncodedVariant { type_name, metadata, tensors }) = variant.get() else {
            bail!(Unimplemented, "saving variants of type {}", variant.value().type_name());
        };
        let tensors = tensors.iter().map(Tensor::to_proto).collect::<Result<_>>()?;
        let proto = VariantTensorDataProto { type_name: type_name.clone(), metadata: metadata.clone(), tensors, ..Default::default() };
        let encoded = proto.encode_to_vec();
        encode_varint(encoded.len() as u64, &mut bytes);
        crc = crc32c::crc32c_append(crc32c::crc32c_append(crc, &(encoded.len() as u64).to_le_bytes()), &encoded);
        let checksum = mask(crc).to_le_bytes();
        crc = crc32c::crc32c_append(crc, &checksum);
        bytes.extend(encoded);
        bytes.extend(checksum);
    }
    Ok((bytes, crc))
}

/// Writes the elements of a tensor to `write` and returns their number of bytes and masked checksum.
///
/// # Errors
/// `Unimplemented` for resources and for variants that are not in their wire form, and what `write` returns.
pub(crate) fn encode(tensor: &Tensor, mut write: impl FnMut(&[u8]) -> Result<()>) -> Result<(u64, u32)> {
    if let Ok(variants) = tensor.as_variants() {
        let (bytes, crc) = encode_variants(variants)?;
        write(&bytes)?;
        return Ok((bytes.len() as u64, mask(crc)));
    }
    if tensor.dtype() != DType::String {
        let Ok(bytes) = tensor.as_bytes() else {
            bail!(Unimplemented, "saving tensors of type {}", tensor.dtype());
        };
        write(bytes)?;
        return Ok((bytes.len() as u64, mask(crc32c::crc32c(bytes))));
    }
    let strings = tensor.as_strings()?;
    let mut head = Vec::new();
    let mut crc = 0;
    for string in strings {
        encode_varint(string.len() as u64, &mut head);
        crc = crc_of_len(crc, string.len() as u64, ByteOrder::Little);
    }
    let crc_bytes = mask(crc).to_le_bytes();
    head.extend(crc_bytes);
    write(&head)?;
    crc = crc32c::crc32c_append(crc, &crc_bytes);
    let mut size = head.len() as u64;
    for string in strings {
        write(string)?;
        crc = crc32c::crc32c_append(crc, string);
        size += string.len() as u64;
    }
    Ok((size, mask(crc)))
}

fn crc_of_len(crc: u32, len: u64, order: ByteOrder) -> u32 {
    match (u32::try_from(len), order) {
        (Ok(len), ByteOrder::Little) => crc32c::crc32c_append(crc, &len.to_le_bytes()),
        (Ok(len), ByteOrder::Big) => crc32c::crc32c_append(crc, &len.to_be_bytes()),
        (Err(_), ByteOrder::Little) => crc32c::crc32c_append(crc, &len.to_le_bytes()),
        (Err(_), ByteOrder::Big) => crc32c::crc32c_append(crc, &len.to_be_bytes()),
    }
}

fn check_crc(stored: u32, computed: u32) -> Result<()> {
    if stored != computed {
        bail!(DataLoss, "Checksum does not match: stored {stored:08x} vs. calculated on the restored bytes {computed:08x}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn copy(source: &[u8]) -> impl FnOnce(&mut [u8]) -> Result<()> {
        move |bytes| {
            bytes.copy_from_slice(source);
            Ok(())
        }
    }

    #[test]
    fn variants_in_their_wire_form_round_trip() {
        let variant = |k: i64| EncodedVariant {
            type_name: format!("type {k}"),
            metadata: Bytes::from(vec![k as u8; 3]),
            tensors: vec![Tensor::scalar(k), Tensor::string("text")],
        };
        let tensor = Tensor::from_variants([2], vec![Variant::new(variant(1)), Variant::new(variant(2))]).unwrap();
        let mut bytes = Vec::new();
        let (size, crc) = encode(&tensor, |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        assert_eq!(size, bytes.len() as u64);
        let read = |bytes: &[u8]| decode(DType::Variant, [2].into(), bytes.len(), ByteOrder::Little, crc, copy(bytes));
        let found = read(&bytes).unwrap();
        let second: &EncodedVariant = found.as_variants().unwrap()[1].get().unwrap();
        assert_eq!((second.type_name.as_str(), &second.metadata[..]), ("type 2", &[2u8; 3][..]));
        assert_eq!(second.tensors[0].to_scalar::<i64>().unwrap(), 2);
        for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..9], &[bytes[9] ^ 1], &bytes[10..]].concat()] {
            assert_eq!(read(damaged).unwrap_err().code(), flowmill_tensor::Code::DataLoss);
        }
    }

    #[test]
    fn big_endian_elements_are_swapped() {
        let crc = |bytes: &[u8]| mask(crc32c::crc32c(bytes));
        let ints = [0, 0, 0, 1, 0, 0, 1, 0];
        let tensor = decode(DType::I32, [2].into(), ints.len(), ByteOrder::Big, crc(&ints), copy(&ints)).unwrap();
        assert_eq!(tensor.as_slice::<i32>().unwrap(), [1, 256]);
        let complex: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        let tensor = decode(DType::C64, [1].into(), complex.len(), ByteOrder::Big, crc(&complex), copy(&complex)).unwrap();
        let values = tensor.as_slice::<flowmill_tensor::Complex<f32>>().unwrap();
        assert_eq!((values[0].re, values[0].im), (1.5, -2.0));
    }
}
