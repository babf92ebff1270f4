//! Whole numbers on the command line.

use std::ops::RangeInclusive;

/// The most of anything that has no limit of its own.
pub(crate) const MOST: u64 = 1_000_000_000_000_000;

/// Reads an integer of `range`, also as `1_000` or `1e9`.
pub(crate) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let allowed = match range.end() {
        &MOST => format!("must be an integer from {} to 10^15, as in 1000000 or 1e9", range.start()),
        end => format!("must be an integer from {} to {end}", range.start()),
    };
    move |text| {
        let number = read(text).filter(|number| range.contains(number));
        number.and_then(|number| number.try_into().ok()).ok_or_else(|| allowed.clone())
    }
}

fn read(text: &str) -> Option<u64> {
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (digits, power): (u64, u32) = (digits.replace('_', "").parse().ok()?, power.parse().ok()?);
    10u64.checked_pow(power).and_then(|scale| digits.checked_mul(scale))
}

#[cfg(test)]
mod tests {
    use super::{MOST, count};

    #[test]
    fn counts() {
        let any = count::<u64>(0..=MOST);
        assert_eq!(any("1e9"), Ok(1_000_000_000));
        assert_eq!(any("12_000"), Ok(12_000));
        assert_eq!(any("0"), Ok(0));
        for wrong in ["", "e9", "1.5e3", "-1", "1e16", "1e99999999999", "many"] {
            assert!(any(wrong).is_err(), "{wrong}");
        }
        let small = count::<u8>(1..=1000);
        assert_eq!(small("255"), Ok(255));
        for wrong in ["0", "256", "1001", "99999999999999999999"] {
            assert_eq!(small(wrong), Err("must be an integer from 1 to 1000".to_owned()), "{wrong}");
        }
    }
}
