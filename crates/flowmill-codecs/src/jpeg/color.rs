//! Conversion from the colour space of a file to grey or RGB.

use super::frame::{ColorSpace, Frame};

/// Converts pixel `x` of the components' rows.
pub(super) type Convert = Box<dyn Fn(&[Vec<u8>], usize, &mut [u8])>;

/// Returns the conversion to `channels` channels, 1 or 3, or `None` if libjpeg does not have it.
pub(super) fn conversion(frame: &Frame, channels: usize) -> Option<Convert> {
    Some(match (frame.color_space(), channels) {
        (ColorSpace::Gray | ColorSpace::YCbCr, 1) => Box::new(|rows, x, pixel| pixel[0] = rows[0][x]),
        (ColorSpace::Rgb, 1) => Box::new(|rows, x, pixel| {
            let [r, g, b] = [0, 1, 2].map(|i: usize| i32::from(rows[i][x]));
            pixel[0] = ((19595 * r + 38470 * g + 7471 * b + HALF) >> 16) as u8;
        }),
        (ColorSpace::Gray, 3) => Box::new(|rows, x, pixel| pixel.fill(rows[0][x])),
        (ColorSpace::Rgb, 3) => Box::new(|rows, x, pixel| pixel.iter_mut().zip(rows).for_each(|(p, row)| *p = row[x])),
        (ColorSpace::YCbCr, 3) => Box::new(|rows, x, pixel| pixel.copy_from_slice(&rgb(rows, x))),
        (space @ (ColorSpace::Cmyk | ColorSpace::Ycck), 3) => {
            // Adobe's files store inverted colours.
            let inverted = frame.adobe.is_some();
            Box::new(move |rows, x, pixel| {
                let inks = if space == ColorSpace::Ycck { rgb(rows, x).map(|v| 255 - v) } else { [rows[0][x], rows[1][x], rows[2][x]] };
                let black = u16::from(rows[3][x]);
                for (p, ink) in pixel.iter_mut().zip(inks.map(u16::from)) {
                    *p = (if inverted { black * ink / 255 } else { (255 - black) * (255 - ink) / 255 }) as u8;
                }
            })
        }
        _ => return None,
    })
}

const HALF: i32 = 1 << 15;

fn rgb(rows: &[Vec<u8>], x: usize) -> [u8; 3] {
    let y = i32::from(rows[0][x]);
    let (cb, cr) = (i32::from(rows[1][x]) - 128, i32::from(rows[2][x]) - 128);
    let r = y + ((91881 * cr + HALF) >> 16);
    let g = y + ((-22554 * cb - 46802 * cr + HALF) >> 16);
    let b = y + ((116130 * cb + HALF) >> 16);
    [r, g, b].map(|v| v.clamp(0, 255) as u8)
}
