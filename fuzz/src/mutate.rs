//! Inputs from seeds.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }
}

/// Longer seeds are cut to this, so that most of the time goes into many inputs.
const MAX_SEED: usize = 1 << 20;

/// A mutation of a random seed, or noise.
pub fn input(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = match corpus.get(random.below(corpus.len() + 1)) {
        Some(seed) if seed.len() <= MAX_SEED => seed.clone(),
        Some(seed) => seed[..MAX_SEED - random.below(MAX_SEED / 2)].to_vec(),
        None => (0..random.below(400)).map(|_| random.next() as u8).collect(),
    };
    for _ in 0..random.below(6) {
        mutate(&mut data, random);
    }
    data
}

fn mutate(data: &mut Vec<u8>, random: &mut Random) {
    const INTERESTING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, 0x08, 0x12, 0x22];
    let at = random.below(data.len());
    let length = random.below(16).min(data.len() - at);
    match random.below(7) {
        _ if data.is_empty() => data.push(random.next() as u8),
        0 => data[at] ^= 1 << random.below(8),
        1 => data[at] = INTERESTING[random.below(INTERESTING.len())],
        2 => data.truncate(at),
        3 => drop(data.drain(at..at + length)),
        4 => {
            let piece = data[at..at + length].to_vec();
            let to = random.below(data.len());
            data.splice(to..to, piece);
        }
        5 => data[at] = data[at].wrapping_add(random.below(5) as u8).wrapping_sub(2),
        _ => {
            let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            data[at..at + length].copy_from_slice(&noise);
        }
    }
}
