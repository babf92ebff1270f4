//! Copies of im2col, against a list of all pixels of the box of every image.

use bitmma_ptx::{Argument, Boxes, Buffer, Launch, Limits, Mode, Program, TensorMap};

/// A tensor of words that count from 1 on, and a map of it: sizes and steps along C, W, H, D, N, corners along W, H, D.
#[derive(Clone, Debug)]
struct Case {
    boxes: Boxes,
    sizes: Vec<u32>,
    lower: Vec<i32>,
    upper: Vec<i32>,
    steps: Vec<u32>,
    channels: u32,
    pixels: u32,
    swizzle: u8,
}

impl Case {
    fn new(sizes: &[u32], lower: &[i32], upper: &[i32]) -> Case {
        Case {
            boxes: Boxes::Im2col,
            sizes: sizes.to_vec(),
            lower: lower.to_vec(),
            upper: upper.to_vec(),
            steps: vec![1; sizes.len()],
            channels: 4,
            pixels: 16,
            swizzle: 0,
        }
    }

    fn words(&self) -> u32 {
        self.sizes.iter().product()
    }

    fn map(&self) -> TensorMap {
        fn filled(list: &[i32]) -> [i32; 3] {
            std::array::from_fn(|at| list.get(at).copied().unwrap_or(0))
        }
        let strides: Vec<u64> = (1..self.sizes.len())
            .map(|at| self.sizes[..at].iter().map(|size| u64::from(*size)).product::<u64>() * 4)
            .collect();
        TensorMap {
            kind: 2,
            rank: self.sizes.len() as u8,
            swizzle: self.swizzle,
            boxes: self.boxes,
            lower: filled(&self.lower),
            upper: filled(&self.upper),
            ..TensorMap::default()
        }
        .with(&self.sizes, &strides, &[self.channels, self.pixels], &self.steps)
    }

    /// What the words of the tensor, and 128 pixels beside it, are after a body: `%d1` is the map, `%d2` the pixels, s shared memory, m an
    /// object.
    fn left(&self, target: &str, body: &str) -> Result<[Vec<u32>; 2], String> {
        let text = format!(
            ".version 8.7\n.target {target}\n.address_size 64\n.visible .entry one(.param .align 64 .b8 map[128], .param .u64 y)\n.reqntid 1\n{{\n\
             .reg .pred %p<2>; .reg .b16 %h<2>; .reg .b64 %d<3>; .shared .align 1024 .b8 s[{}]; .shared .align 8 .b8 m[8];\n\
             mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [y]; mbarrier.init.shared::cta.b64 [m], 1;\n{body}\nret; }}\n",
            128 * 4 * self.channels
        );
        let program = Program::parse(&text).map_err(|error| error.to_string())?;
        let kernel = program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())?;
        let buffer = |name: &str, words: std::ops::Range<u32>| Buffer {
            name: name.to_owned(),
            bytes: words.flat_map(u32::to_le_bytes).collect(),
            ..Buffer::default()
        };
        let y = 1_000_000;
        let mut buffers =
            [buffer("x", 1..1 + self.words()), buffer("y", y..y + 128 * self.channels)].to_vec();
        let launch = Launch { limits: Limits { threads: 1, turns: 1000 }, ..Launch::new(&kernel, [1; 3]) };
        let arguments =
            [Argument::TensorMap { buffer: 0, map: self.map() }, Argument::Pointer { buffer: 1, offset: 0 }];
        launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
        let words = |buffer: &Buffer| {
            buffer.bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        Ok([words(&buffers[0]), words(&buffers[1])])
    }

    fn count(&self) -> u32 {
        if self.boxes == Boxes::Im2colWide128 { 128 } else { self.pixels }
    }

    fn bytes(&self) -> u32 {
        4 * self.channels * self.count()
    }

    fn load(&self, first: &[i64], offsets: &[i64]) -> String {
        let mode = match self.boxes {
            Boxes::Tiled => "tile",
            Boxes::Im2col => "im2col",
            Boxes::Im2colWide => "im2col::w",
            Boxes::Im2colWide128 => "im2col::w::128",
        };
        let list = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes};\n\
             cp.async.bulk.tensor.{rank}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes [s], [%d1, {{{first}}}], [m], {{{offsets}}};\n\
             W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;\n\
             cp.async.bulk.global.shared::cta.bulk_group [%d2], [s], {bytes}; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            rank = self.sizes.len(),
            bytes = self.bytes(),
            first = list(first),
            offsets = list(offsets),
        )
    }

    /// What a load brings, pixel after pixel.
    fn loaded(&self, first: &[i64], offsets: &[i64]) -> Result<Vec<u32>, String> {
        let [_, mut y] = self.left("sm_100a", &self.load(first, offsets))?;
        y.truncate(self.bytes() as usize / 4);
        Ok(y)
    }

    /// The pixels of the box of every image, by coordinates W, H, D, N, in the order in which they are copied; 300 at least.
    fn list(&self, fixed: &[i64]) -> Vec<Vec<i64>> {
        let rank = self.sizes.len();
        let mut list = vec![vec![]];
        // from D to W
        for at in (1..rank - 1).rev() {
            let (lower, size) = (i64::from(self.lower[at - 1]), i64::from(self.sizes[at]));
            let along: Vec<i64> = match self.boxes {
                Boxes::Im2colWide | Boxes::Im2colWide128 if at > 1 => vec![fixed[at]],
                _ => (lower..size + i64::from(self.upper[at - 1])).step_by(self.steps[at] as usize).collect(),
            };
            let with =
                |pixel: &Vec<i64>| along.iter().map(|one| [&[*one], &**pixel].concat()).collect::<Vec<_>>();
            list = list.iter().flat_map(with).collect();
        }
        let images = i64::from(self.sizes[rank - 1]) + 300 / list.len() as i64 + 1;
        (0..images).flat_map(|image| list.iter().map(move |pixel| [&**pixel, &[image]].concat())).collect()
    }

    /// Where each element of a copy is in the tensor.
    fn places(&self, first: &[i64], offsets: &[i64]) -> Vec<Option<usize>> {
        let list = self.list(first);
        let start = list.iter().position(|pixel| pixel == &first[1..]).expect("the first is in the box");
        let moved = |pixel: &[i64]| -> Vec<i64> {
            (0..pixel.len()).map(|at| pixel[at] + offsets.get(at).unwrap_or(&0)).collect()
        };
        let place = |coordinates: &[i64]| {
            let is_inside =
                coordinates.iter().zip(&self.sizes).all(|(at, size)| *at >= 0 && *at < i64::from(*size));
            let linear = coordinates
                .iter()
                .zip(&self.sizes)
                .rev()
                .fold(0, |sum, (at, size)| sum * i64::from(*size) + at);
            is_inside.then_some(linear as usize)
        };
        let count = self.count() as usize;
        list[start..start + count]
            .iter()
            .flat_map(|pixel| {
                let pixel = moved(pixel);
                (0..i64::from(self.channels))
                    .map(|channel| place(&[&[first[0] + channel], &*pixel].concat()))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn expected(&self, first: &[i64], offsets: &[i64]) -> Vec<u32> {
        let places = self.places(first, offsets);
        places.into_iter().map(|place| place.map_or(0, |place| place as u32 + 1)).collect()
    }
}

/// The next number below a bound (a linear congruence).
fn next(state: &mut u64, below: i64) -> i64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as i64).rem_euclid(below)
}

#[test]
fn loads_go_on_along_rows_images_and_the_batch() {
    let mut state = 1;
    for index in 0..200 {
        let rank = 3 + index % 3;
        let is_wide = index % 5 == 4;
        let mut random = |below: i64| next(&mut state, below);
        let sizes: Vec<u32> = (0..rank).map(|at| if at == 0 { 8 } else { 1 + random(6) as u32 }).collect();
        let boxes = if !is_wide {
            Boxes::Im2col
        } else if random(2) == 0 {
            Boxes::Im2colWide
        } else {
            Boxes::Im2colWide128
        };
        let lower: Vec<i32> = (0..rank - 2).map(|_| random(6) as i32 - 3).collect();
        // a box of one pixel and more
        let upper: Vec<i32> =
            (0..rank - 2).map(|at| lower[at] + 1 - sizes[at + 1] as i32 + random(9) as i32).collect();
        let mut case = Case { boxes, ..Case::new(&sizes, &lower, &upper) };
        case.steps = (0..rank).map(|at| if at == rank - 1 { 1 } else { 1 + random(3) as u32 }).collect();
        case.pixels = 4 + 4 * random(10) as u32;
        case.swizzle = if is_wide { 2 } else { 0 };
        if case.upper.iter().any(|corner| *corner > 15) {
            continue;
        }
        let list = case.list(&[0; 5]);
        let pixel = list[random(list.len().min(120) as i64) as usize].clone();
        let first = [&[random(10) - 1], pixel.as_slice()].concat();
        let mut offsets: Vec<i64> = (0..if is_wide { 1 } else { rank - 2 }).map(|_| random(4)).collect();
        let expected = case.expected(&first, &offsets);
        if is_wide {
            offsets.insert(0, 0);
        }
        let loaded = case
            .loaded(&first, &offsets)
            .unwrap_or_else(|error| panic!("{index}: {error}: {case:?} {first:?} {offsets:?}"));
        let expected = if is_wide { exchanged(&expected) } else { expected };
        assert_eq!(loaded, expected, "{index}: {case:?} {first:?} {offsets:?}");
    }
}

/// Pixels of 16 bytes as the swizzle of 64 bytes leaves them: chunks of a row of 128 bytes are exchanged within its halves.
fn exchanged(words: &[u32]) -> Vec<u32> {
    let chunks = words.as_chunks::<4>().0;
    (0..chunks.len()).flat_map(|at| chunks[at ^ (at / 8 % 4)]).collect()
}

/// A 3×2 filter with dilation over padded images of 5×7, two pixels on at a time along H and three along W: the sum over the filter of
/// what loads with its offsets bring is the convolution.
#[test]
fn a_convolution_is_a_sum_of_loads() {
    let (padding, dilation, steps) = ([2i64, 1], [1i64, 2], [3u32, 2]); // W, H
    let (filter, images, channels) = ([3i64, 2], [7i64, 5], 4i64);
    let outputs: Vec<i64> = (0..2)
        .map(|at| {
            (images[at] + 2 * padding[at] - dilation[at] * (filter[at] - 1) - 1) / i64::from(steps[at]) + 1
        })
        .collect();
    let upper = |at: usize| (padding[at] - dilation[at] * (filter[at] - 1)) as i32;
    let case = Case {
        steps: vec![1, steps[0], steps[1], 1],
        pixels: 8,
        ..Case::new(&[8, 7, 5, 3], &[-2, -1], &[upper(0), upper(1)])
    };
    let all = (outputs[0] * outputs[1] * 3) as usize;
    let weight = |s: i64, r: i64, c: i64| (1 + s + 5 * r + 11 * c) as u32;
    let mut sums = vec![0; all.next_multiple_of(8)];
    for start in (0..all).step_by(8) {
        let (x, y) = (start as i64 % outputs[0], start as i64 / outputs[0] % outputs[1]);
        let n = start as i64 / (outputs[0] * outputs[1]);
        let first = [4, x * i64::from(steps[0]) - padding[0], y * i64::from(steps[1]) - padding[1], n];
        for (s, r) in (0..filter[0]).flat_map(|s| (0..filter[1]).map(move |r| (s, r))) {
            let loaded = case.loaded(&first, &[s * dilation[0], r * dilation[1]]).expect("runs");
            for (at, word) in loaded.iter().enumerate() {
                sums[start + at / 4] += word * weight(s, r, at as i64 % 4);
            }
        }
    }
    for (at, sum) in sums.into_iter().enumerate().take(all) {
        let at = at as i64;
        let (x, y, n) = (at % outputs[0], at / outputs[0] % outputs[1], at / (outputs[0] * outputs[1]));
        let mut expected = 0;
        for (s, r, c) in (0..filter[0])
            .flat_map(|s| (0..filter[1]).flat_map(move |r| (0..channels).map(move |c| (s, r, c))))
        {
            let w = x * i64::from(steps[0]) - padding[0] + s * dilation[0];
            let h = y * i64::from(steps[1]) - padding[1] + r * dilation[1];
            if (0..images[0]).contains(&w) && (0..images[1]).contains(&h) {
                let word = 1 + ((n * images[1] + h) * images[0] + w) * 8 + 4 + c;
                expected += word as u32 * weight(s, r, c);
            }
        }
        assert_eq!(sum, expected, "{x} {y} {n}");
    }
}

/// From its last row on, W = 3, the pixels of the last image end; further ones are not written.
#[test]
fn stores_and_reductions_write_the_pixels_that_loads_read() {
    for steps in [1, 2] {
        let case = Case { steps: vec![1, steps, 1, 1], ..Case::new(&[8, 6, 4, 3], &[1, 1], &[-1, 0]) };
        for first in [[4, 1, 2, 0], [0, 3, 3, 2]] {
            let filled = format!(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes};\n\
                 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d2], {bytes}, [m];\n\
                 W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;\n",
                bytes = case.bytes()
            );
            for reduces in [false, true] {
                let form = if reduces {
                    "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add"
                } else {
                    "cp.async.bulk.tensor.4d.global.shared::cta"
                };
                let [c, w, h, n] = first;
                let [x, _] = case
                    .left(
                        "sm_90a",
                        &format!(
                            "{filled}{form}.im2col_no_offs.bulk_group [%d1, {{{c}, {w}, {h}, {n}}}], [s];\n\
                         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                        ),
                    )
                    .expect("runs");
                let mut expected: Vec<u32> = (1..=case.words()).collect();
                for (at, place) in case.places(&first, &[]).into_iter().enumerate() {
                    if let Some(place) = place {
                        expected[place] = 1_000_000 + at as u32 + if reduces { expected[place] } else { 0 };
                    }
                }
                assert_eq!(x, expected, "{steps} {first:?} {reduces}");
            }
        }
    }
}

#[test]
fn what_ptx_does_not_have_or_leaves_open_is_an_error() {
    let case = || Case::new(&[8, 6, 4, 3], &[-1, -1], &[-1, -1]);
    let wide = || Case { boxes: Boxes::Im2colWide, swizzle: 2, ..case() };
    let first = [0, -1, 0, 0];
    let runs =
        |case: Case, first: &[i64], offsets: &[i64]| case.loaded(first, offsets).err().unwrap_or_default();
    assert_eq!(runs(case(), &first, &[0, 0]), "");
    // the first pixel of im2col::w may be left of the box
    assert_eq!(runs(wide(), &[0, -3, 9, 0], &[0, 1]), "");
    for (expected, case, first, offsets) in [
        ("begins at -2 along W, outside of its box from -1 to 4", case(), &[0, -2, 0, 0][..], &[0i64, 0][..]),
        ("begins at 3 along H, outside of its box from -1 to 2", case(), &[0, 0, 3, 0], &[0, 0]),
        ("begins at 5 along W", wide(), &[0, 5, 0, 0], &[0, 0]),
        (
            "steps of 2 from the corner -1 do not reach",
            Case { steps: vec![1, 2, 1, 1], ..case() },
            &[0, 0, 0, 0],
            &[0, 0],
        ),
        ("an offset of im2col is 0 to 255, not 256", case(), &first, &[256, 0]),
        ("the halo of im2col::w is not supported", wide(), &first, &[1, 0]),
        (
            "the tensor map is of im2col::w::128, and the copy of im2col::w",
            Case { boxes: Boxes::Im2colWide128, ..wide() },
            &first,
            &[0, 0],
        ),
        ("its last operand has 2 offsets", case(), &first, &[0, 0, 0]),
        ("its last operand has 2 offsets", wide(), &first, &[0]),
        (
            "a tensor map of im2col has 3 to 5 dimensions, not 2",
            Case { sizes: vec![8, 6], ..case() },
            &first,
            &[0, 0],
        ),
        ("im2col has 1 to 1024 pixels, not 1025", Case { pixels: 1025, ..case() }, &first, &[0, 0]),
        (
            "im2col has 1 to 256 channels of a pixel, not 260",
            Case { channels: 260, ..case() },
            &first,
            &[0, 0],
        ),
        (
            "a corner of im2col is -128 to 127 along H, not 128",
            Case { upper: vec![0, 128], ..case() },
            &first,
            &[0, 0],
        ),
        ("the box of im2col is empty along W", Case { upper: vec![-7, 0], ..case() }, &first, &[0, 0]),
        ("no steps from image to image, not 2", Case { steps: vec![1, 1, 1, 2], ..case() }, &first, &[0, 0]),
        (
            "a tensor map of im2col::w has a swizzle of 64 or 128 bytes",
            Case { swizzle: 0, ..wide() },
            &first,
            &[0, 0],
        ),
    ] {
        let copied = if case.boxes == Boxes::Im2col { Boxes::Im2col } else { Boxes::Im2colWide };
        let load = Case { boxes: copied, ..Case::new(&[8, 6, 4, 3], &[], &[]) }.load(first, offsets);
        let error = case.left("sm_100a", &load).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let stored = |case: Case, first: &str| {
        let store = format!(
            "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%d1, {{{first}}}], [s];"
        );
        case.left("sm_90a", &store).expect_err("is refused")
    };
    let inner = Case { lower: vec![0, 0], upper: vec![0, 0], ..case() };
    assert!(stored(case(), "0, 0, 0, 0").contains("a store of im2col has coordinates and corners within"));
    assert!(stored(inner, "0, 0, 0, -1").contains("a store of im2col has coordinates and corners within"));
    for (target, mode, expected) in [
        ("sm_90a", "im2col::w", "needs sm_100"),
        ("sm_120a", "im2col::w::128", "sm_120 does not have it"),
        ("sm_100a", "im2col_no_offs", "is not supported"),
    ] {
        let load = case().load(&first, &[0, 0]).replace("global.im2col", &format!("global.{mode}"));
        let error = case().left(target, &load).expect_err(mode);
        assert!(error.contains(expected), "{mode}: {error}");
    }
}
