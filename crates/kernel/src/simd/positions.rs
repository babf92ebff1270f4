//! Two operands position by position along K, without a branch for each.

/// Goes through pairs of operands position by position along K, four at a time (`eights`: eight, where there are as many),
/// so that few branches are left of it.
macro_rules! by_fours {
    (eights $($pairs:tt)*) => { by_fours!(@[8 4 1] $($pairs)*) };
    (@[$($count:literal)+] $($a:expr, $a_width:expr; $b:expr, $b_width:expr);+
        => |$($x:ident, $y:ident),+| $body:block) => {{
        $(let mut $x = crate::simd::Positions::new(($a, $a_width), ($b, $b_width));)+
        by_fours!(@each [$($count)+] [$($x $a_width, $y $b_width);+] $body);
    }};
    (@each [$($count:literal)+] $pairs:tt $body:block) => { $(by_fours!(@loop $count $pairs $body);)+ };
    (@loop $count:literal [$($x:ident $a_width:expr, $y:ident $b_width:expr);+] $body:block) => {
        loop {
            $(let Some(($x, $y)) = $x.next($count) else { break };)+
            for index in 0..$count {
                $(let ($x, $y) = (&$x[index * $a_width..][..$a_width], &$y[index * $b_width..][..$b_width]);)+
                $body
            }
        }
    };
    ($($pairs:tt)*) => { by_fours!(@[4 1] $($pairs)*) };
}

pub(crate) use by_fours;

/// Two operands position by position along K. One length is looked at for both, and by index only once for many
/// positions; adapters of iterators will not do, for in functions as large as kernels calls of them are left, which are
/// not compiled for the instruction set.
pub(crate) struct Positions<'p, T, U> {
    // as many positions in one as in the other
    a: &'p [T],
    b: &'p [U],
    widths: (usize, usize),
}

impl<'p, T, U> Positions<'p, T, U> {
    /// Operands and what they have of each position; of the shorter one's positions.
    #[inline(always)]
    pub(crate) fn new((a, a_width): (&'p [T], usize), (b, b_width): (&'p [U], usize)) -> Self {
        let count = (a.len() / a_width).min(b.len() / b_width);
        Positions { a: &a[..count * a_width], b: &b[..count * b_width], widths: (a_width, b_width) }
    }

    /// The next `count` positions, if there are as many.
    #[inline(always)]
    pub(crate) fn next(&mut self, count: usize) -> Option<(&'p [T], &'p [U])> {
        let (a_count, b_count) = (count * self.widths.0, count * self.widths.1);
        if self.a.len() < a_count {
            return None;
        }
        // SAFETY: A has as many positions, as was just asked
        let (a, a_left) = unsafe { self.a.split_at_unchecked(a_count) };
        // SAFETY: B has as many positions as A
        let (b, b_left) = unsafe { self.b.split_at_unchecked(b_count) };
        (self.a, self.b) = (a_left, b_left);
        Some((a, b))
    }
}
