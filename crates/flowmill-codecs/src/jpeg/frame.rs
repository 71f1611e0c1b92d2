//! A file's markers: the tables, the frame and the scans.

use super::bits::{BitReader, HuffmanTable};
use super::{Fault, Result, progressive, scan};

/// The position within a block of each coefficient, in the order in which a file stores them. Runs that go past the end remain at the last
/// position.
pub(super) const NATURAL_ORDER: [u8; 80] = {
    let mut order = [63; 80];
    let (mut row, mut column, mut i) = (0i32, 0i32, 0);
    while i < 64 {
        order[i] = (row * 8 + column) as u8;
        let up = (row + column) % 2 == 0;
        match (up, row, column) {
            (true, _, 7) => row += 1,
            (true, 0, _) => column += 1,
            (true, ..) => (row, column) = (row - 1, column + 1),
            (false, 7, _) => column += 1,
            (false, _, 0) => row += 1,
            (false, ..) => (row, column) = (row + 1, column - 1),
        }
        i += 1;
    }
    order
};

/// One component of an image.
pub(super) struct Component {
    id: u8,
    /// The horizontal sampling factor; `v` is the vertical one.
    pub h: usize,
    pub v: usize,
    table: usize,
    /// The quantisation table when the component's first scan begins.
    pub quant: Option<[u16; 64]>,
    /// Blocks per row that belong to the image; `blocks_down` is their number per column.
    pub blocks_across: usize,
    pub blocks_down: usize,
    /// Blocks per row, including those that pad the last MCU (minimum coded unit); `rows` is their number per column.
    pub stride: usize,
    pub rows: usize,
    /// The coefficients in natural order, block by block.
    pub coefficients: Vec<i16>,
    /// The number of samples that a block produces along each dimension: 8, 4, 2 or 1.
    pub scale: usize,
    /// Samples per row that belong to the image; `height` is the number of rows.
    pub width: usize,
    pub height: usize,
}

/// The colour space that a file declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorSpace {
    Gray,
    Rgb,
    YCbCr,
    Cmyk,
    Ycck,
    Unknown,
}

/// The contents of the headers before the scans, and the coefficients that the scans fill in.
pub(super) struct Frame {
    pub width: usize,
    pub height: usize,
    progressive: bool,
    pub components: Vec<Component>,
    pub max_h: usize,
    pub max_v: usize,
    /// MCUs per row of a scan of all components; `mcu_rows` is the number of rows.
    mcus_across: usize,
    pub mcu_rows: usize,
    pub min_scale: usize,
    jfif: bool,
    /// The colour transform that an Adobe marker names.
    pub adobe: Option<u8>,
    tables: Tables,
}

/// The tables, which later markers may replace.
#[derive(Default)]
pub(super) struct Tables {
    quant: [Option<[u16; 64]>; 4],
    pub dc: [Option<HuffmanTable>; 4],
    pub ac: [Option<HuffmanTable>; 4],
    /// MCUs between restart markers; 0 if there are no restart markers.
    pub restart_interval: usize,
}

/// The header of one scan: its components with their tables, and which coefficients and bits it holds.
pub(super) struct Scan {
    /// For each component: its index, the table of its DC coefficients, the table of its AC coefficients.
    pub parts: Vec<(usize, usize, usize)>,
    pub spectral_start: usize,
    pub spectral_end: usize,
    pub high: u32,
    pub low: u32,
}

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;

/// A reader of a sequence of markers.
struct Markers<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Markers<'a> {
    /// Returns the next marker. Like libjpeg, it skips bytes that are no marker.
    fn next(&mut self) -> Result<u8> {
        let mut rest = self.data.get(self.at..).unwrap_or(&[]).iter().enumerate().skip_while(|(_, b)| **b != 0xff);
        let mut after_ff = false;
        for (i, &byte) in &mut rest {
            match byte {
                0xff => after_ff = true,
                0 => after_ff = false,
                _ if after_ff => {
                    self.at += i + 1;
                    return Ok(byte);
                }
                _ => {}
            }
        }
        Err(Fault::Truncated)
    }

    /// Returns the marker's contents, which begin with their length.
    fn segment(&mut self) -> Result<&'a [u8]> {
        let length = self.data.get(self.at..self.at + 2).ok_or(Fault::Truncated)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if length < 2 {
            return Err(Fault::Invalid);
        }
        let segment = self.data.get(self.at + 2..self.at + length).ok_or(Fault::Truncated)?;
        self.at += length;
        Ok(segment)
    }
}

impl Frame {
    /// Reads the file up to the frame's header; returns the header and the offset after it.
    pub(super) fn read_header(data: &[u8]) -> Result<(Frame, usize)> {
        if data.get(..2) != Some(&[0xff, SOI]) {
            return Err(Fault::Invalid);
        }
        let mut markers = Markers { data, at: 2 };
        let (mut jfif, mut adobe, mut tables) = (false, None, Tables::default());
        loop {
            match markers.next()? {
                marker @ (0xc0..=0xc2) => {
                    let mut frame = Frame::from_header(markers.segment()?, marker == 0xc2)?;
                    (frame.jfif, frame.adobe, frame.tables) = (jfif, adobe, tables);
                    return Ok((frame, markers.at));
                }
                0xe0 => jfif |= markers.segment()?.starts_with(b"JFIF\0"),
                0xee => adobe = adobe_transform(markers.segment()?).or(adobe),
                SOS | EOI | SOI => return Err(Fault::Invalid),
                marker => tables.read(marker, &mut markers)?,
            }
        }
    }

    fn from_header(segment: &[u8], progressive: bool) -> Result<Frame> {
        let &[8, h1, h0, w1, w0, count, ref rest @ ..] = segment else { return Err(Fault::Invalid) };
        let (height, width) = (usize::from(u16::from_be_bytes([h1, h0])), usize::from(u16::from_be_bytes([w1, w0])));
        let count = usize::from(count);
        if height == 0 || width == 0 || !(1..=10).contains(&count) || rest.len() != 3 * count {
            return Err(Fault::Invalid);
        }
        let mut frame = Frame {
            width,
            height,
            progressive,
            components: Vec::new(),
            max_h: 1,
            max_v: 1,
            mcus_across: 0,
            mcu_rows: 0,
            min_scale: 8,
            jfif: false,
            adobe: None,
            tables: Tables::default(),
        };
        for part in rest.chunks_exact(3) {
            let (h, v) = (usize::from(part[1] >> 4), usize::from(part[1] & 15));
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) || part[2] > 3 {
                return Err(Fault::Invalid);
            }
            (frame.max_h, frame.max_v) = (frame.max_h.max(h), frame.max_v.max(v));
            frame.components.push(Component {
                id: part[0],
                h,
                v,
                table: usize::from(part[2]),
                quant: None,
                blocks_across: 0,
                blocks_down: 0,
                stride: 0,
                rows: 0,
                coefficients: Vec::new(),
                scale: 8,
                width: 0,
                height: 0,
            });
        }
        (frame.mcus_across, frame.mcu_rows) = (width.div_ceil(8 * frame.max_h), height.div_ceil(8 * frame.max_v));
        for c in &mut frame.components {
            (c.blocks_across, c.blocks_down) = ((width * c.h).div_ceil(8 * frame.max_h), (height * c.v).div_ceil(8 * frame.max_v));
            (c.stride, c.rows) = (frame.mcus_across * c.h, frame.mcu_rows * c.v);
        }
        Ok(frame)
    }

    /// Sets the size of each component's blocks, so that blocks of the finest component become `min_scale` samples wide. A component with fewer
    /// samples keeps more of its blocks' detail, so that it need not be interpolated.
    pub(super) fn choose_scales(&mut self, min_scale: usize) {
        self.min_scale = min_scale;
        for c in &mut self.components {
            c.scale = min_scale;
            while c.scale < 8
                && (self.max_h * min_scale).is_multiple_of(c.h * c.scale * 2)
                && (self.max_v * min_scale).is_multiple_of(c.v * c.scale * 2)
            {
                c.scale *= 2;
            }
            c.width = c.samples(self.width, c.h, self.max_h);
            c.height = c.samples(self.height, c.v, self.max_v);
        }
    }

    /// Returns the colour space, which the markers and the components' ids determine.
    pub(super) fn color_space(&self) -> ColorSpace {
        let ids: Vec<u8> = self.components.iter().map(|c| c.id).collect();
        match (ids.as_slice(), self.adobe) {
            ([_], _) => ColorSpace::Gray,
            ([..], _) if ids.len() == 3 && self.jfif => ColorSpace::YCbCr,
            ([_, _, _], Some(0)) => ColorSpace::Rgb,
            ([_, _, _], Some(_)) => ColorSpace::YCbCr,
            (b"RGB", None) => ColorSpace::Rgb,
            ([_, _, _], None) => ColorSpace::YCbCr,
            ([_, _, _, _], Some(0) | None) => ColorSpace::Cmyk,
            ([_, _, _, _], Some(_)) => ColorSpace::Ycck,
            _ => ColorSpace::Unknown,
        }
    }

    /// Reads all scans. Returns the number of complete rows of MCUs.
    ///
    /// # Errors
    /// Returns `Truncated` if the file ends within the first of several scans of an image, and `recover` is not set; `Invalid` if a scan or marker is
    /// invalid.
    pub(super) fn read_scans(&mut self, data: &[u8], at: usize, recover: bool) -> Result<usize> {
        for c in &mut self.components {
            // The operating system does not allocate zeroed pages until a scan writes to them.
            c.coefficients = vec![0; c.stride * c.rows * 64];
        }
        let mut markers = Markers { data, at };
        let mut scans = 0;
        loop {
            match markers.next() {
                Ok(SOS) => {
                    let scan = self.read_scan_header(markers.segment()?)?;
                    let whole = !self.progressive && scan.parts.len() == self.components.len();
                    let mut bits = BitReader::new(data, markers.at, recover);
                    let rows =
                        if self.progressive { progressive::decode(self, &scan, &mut bits)? } else { scan::decode(self, &scan, &mut bits)? };
                    scans += 1;
                    if whole {
                        // libjpeg returns rows while it reads. When it has all of them, it reads on to the end of the file.
                        markers.at = bits.position();
                        if rows == self.mcu_rows {
                            self.read_trailer(&mut markers)?;
                        }
                        return Ok(rows);
                    }
                    if bits.truncated() {
                        return Err(Fault::Truncated);
                    }
                    markers.at = bits.position();
                }
                Ok(EOI) => break,
                Ok(0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf | SOI) => return Err(Fault::Invalid),
                Ok(marker) => self.tables.read(marker, &mut markers)?,
                Err(_) if recover => break,
                Err(fault) => return Err(fault),
            }
        }
        if scans == 0 { Err(Fault::Invalid) } else { Ok(self.mcu_rows) }
    }

    /// Reads the markers after the last scan. The file may also end without them.
    fn read_trailer(&mut self, markers: &mut Markers<'_>) -> Result<()> {
        loop {
            match markers.next() {
                Ok(EOI | SOS) | Err(_) => return Ok(()),
                Ok(0xc0..=0xc2 | SOI) => return Err(Fault::Invalid),
                Ok(marker) => match self.tables.read(marker, markers) {
                    Err(Fault::Truncated) => return Ok(()),
                    other => other?,
                },
            }
        }
    }

    fn read_scan_header(&mut self, segment: &[u8]) -> Result<Scan> {
        let (&count, rest) = segment.split_first().ok_or(Fault::Invalid)?;
        let count = usize::from(count);
        if !(1..=4).contains(&count) || rest.len() != 2 * count + 3 {
            return Err(Fault::Invalid);
        }
        let (parts, tail) = rest.split_at(2 * count);
        let mut scan = Scan {
            parts: Vec::new(),
            spectral_start: usize::from(tail[0]),
            spectral_end: usize::from(tail[1]),
            high: u32::from(tail[2] >> 4),
            low: u32::from(tail[2] & 15),
        };
        for part in parts.chunks_exact(2) {
            let index = self.components.iter().position(|c| c.id == part[0]).ok_or(Fault::Invalid)?;
            let (dc, ac) = (usize::from(part[1] >> 4), usize::from(part[1] & 15));
            if scan.parts.iter().any(|p| p.0 == index) || dc > 3 || ac > 3 {
                return Err(Fault::Invalid);
            }
            scan.parts.push((index, dc, ac));
        }
        if count > 1 && scan.parts.iter().map(|p| self.components[p.0].h * self.components[p.0].v).sum::<usize>() > 10 {
            return Err(Fault::Invalid);
        }
        if self.progressive {
            let dc_only = scan.spectral_start == 0;
            let band = if dc_only { scan.spectral_end == 0 } else { scan.spectral_start <= scan.spectral_end && scan.spectral_end < 64 };
            let refines = scan.high == 0 || scan.high == scan.low + 1;
            if !band || !refines || scan.low > 13 || (!dc_only && count != 1) {
                return Err(Fault::Invalid);
            }
        }
        for &(index, ..) in &scan.parts {
            let c = &mut self.components[index];
            if c.quant.is_none() {
                c.quant = Some(self.tables.quant[c.table].ok_or(Fault::Invalid)?);
            }
        }
        Ok(scan)
    }

    /// Returns the tables and the components, for a scan that reads the former and fills in the latter.
    pub(super) fn split(&mut self) -> (&Tables, &mut [Component]) {
        (&self.tables, &mut self.components)
    }

    /// Returns the number of MCUs per row and per column of a scan, and true if an MCU holds blocks of several components.
    pub(super) fn units(&self, scan: &Scan) -> (usize, usize, bool) {
        match scan.parts.as_slice() {
            &[(index, ..)] => (self.components[index].blocks_across, self.components[index].blocks_down, false),
            _ => (self.mcus_across, self.mcu_rows, true),
        }
    }
}

fn adobe_transform(segment: &[u8]) -> Option<u8> {
    if segment.starts_with(b"Adobe") { segment.get(11).copied() } else { None }
}

impl Tables {
    /// Reads a marker that begins neither a frame nor a scan.
    fn read(&mut self, marker: u8, markers: &mut Markers<'_>) -> Result<()> {
        match marker {
            0xdb => self.read_quant(markers.segment()?),
            0xc4 => self.read_huffman(markers.segment()?),
            0xdd => match *markers.segment()? {
                [high, low] => {
                    self.restart_interval = usize::from(u16::from_be_bytes([high, low]));
                    Ok(())
                }
                _ => Err(Fault::Invalid),
            },
            // These markers have no contents.
            0x01 | 0xd0..=0xd7 => Ok(()),
            // Arithmetic coding conditions, the number of lines, application data and comments are skipped.
            0xcc | 0xdc | 0xe0..=0xef | 0xfe => markers.segment().map(drop),
            _ => Err(Fault::Invalid),
        }
    }

    fn read_quant(&mut self, mut segment: &[u8]) -> Result<()> {
        while let Some((&head, rest)) = segment.split_first() {
            let (wide, index) = (head >> 4 != 0, usize::from(head & 15));
            let size = if wide { 128 } else { 64 };
            if index > 3 || rest.len() < size {
                return Err(Fault::Invalid);
            }
            let (values, rest) = rest.split_at(size);
            let mut table = [0; 64];
            for (i, &place) in NATURAL_ORDER[..64].iter().enumerate() {
                table[usize::from(place)] =
                    if wide { u16::from_be_bytes([values[2 * i], values[2 * i + 1]]) } else { u16::from(values[i]) };
            }
            self.quant[index] = Some(table);
            segment = rest;
        }
        Ok(())
    }

    fn read_huffman(&mut self, mut segment: &[u8]) -> Result<()> {
        while let Some((&head, rest)) = segment.split_first() {
            let (counts, rest) = rest.split_at_checked(16).ok_or(Fault::Invalid)?;
            let total: usize = counts.iter().map(|&n| usize::from(n)).sum();
            let (symbols, rest) = rest.split_at_checked(total).filter(|_| total <= 256).ok_or(Fault::Invalid)?;
            let (ac, index) = (head & 0x10 != 0, usize::from(head & !0x10));
            if index > 3 {
                return Err(Fault::Invalid);
            }
            let table = HuffmanTable::new(counts, symbols);
            if ac {
                self.ac[index] = Some(table)
            } else {
                self.dc[index] = Some(table)
            }
            segment = rest;
        }
        Ok(())
    }
}
