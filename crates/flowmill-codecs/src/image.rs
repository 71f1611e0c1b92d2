//! Decoded images, and the formats of image files.

/// Decoded pixels.
pub struct Image {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Samples per pixel.
    pub channels: usize,
    /// The samples: height × width × channels.
    pub pixels: Vec<u8>,
}

/// The decoded images of an animation.
pub struct Frames {
    /// The number of images.
    pub count: usize,
    /// Rows of each image.
    pub height: usize,
    /// Columns of each image.
    pub width: usize,
    /// Samples per pixel.
    pub channels: usize,
    /// The samples: count × height × width × channels.
    pub pixels: Vec<u8>,
}

/// The format of an image file, which its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// GIF, with one frame or more.
    Gif,
    /// BMP.
    Bmp,
    /// WebP, with one frame or more.
    WebP,
}

impl ImageFormat {
    /// Returns the format of a file that begins with `contents`, or `None` if the format is unknown.
    pub fn of(contents: &[u8]) -> Option<ImageFormat> {
        let magic: [(&[u8], ImageFormat); 4] = [
            (b"\xff\xd8\xff", ImageFormat::Jpeg),
            (b"\x89PNG\r\n\x1a\n", ImageFormat::Png),
            (b"GIF8", ImageFormat::Gif),
            (b"BM", ImageFormat::Bmp),
        ];
        let is_webp = contents.starts_with(b"RIFF") && contents.get(8..12) == Some(b"WEBP".as_slice());
        let found = magic.iter().find(|(start, _)| contents.starts_with(start)).map(|&(_, format)| format);
        found.or(is_webp.then_some(ImageFormat::WebP))
    }

    /// Returns the name of the format for error messages.
    pub fn name(self) -> &'static str {
        match self {
            ImageFormat::Jpeg => "JPEG",
            ImageFormat::Png => "PNG",
            ImageFormat::Gif => "GIF",
            ImageFormat::Bmp => "BMP",
            ImageFormat::WebP => "WebP",
        }
    }
}
