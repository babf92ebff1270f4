//! Rounding symbols are read as they are printed, and mirrored rules mirror.

use bitmma_formats::*;

#[test]
fn reading_undoes_printing() {
    for (rounding, symbol) in Rounding::ALL {
        assert_eq!(rounding.to_string(), symbol);
        assert_eq!(symbol.parse(), Ok(rounding));
        assert_eq!(symbol.to_lowercase().parse(), Ok(rounding));
        assert_eq!(Rounding::ALL.iter().filter(|(_, other)| *other == symbol).count(), 1);
        assert_eq!(Rounding::ALL.iter().filter(|(other, _)| *other == rounding).count(), 1);
    }
    let error = "RNX".parse::<Rounding>().unwrap_err();
    assert_eq!(error.to_string(), "unknown rounding 'RNX'; one of RZ RA RU RD RNE RNO RNU RND RNZ RNA RO");
    // the message lists every rule, in the table's order
    let listed = Rounding::ALL.map(|(_, symbol)| symbol).join(" ");
    assert!(error.to_string().ends_with(&listed));
}

#[test]
fn the_mirrored_rule_rounds_the_negated_value_to_the_negated_result() {
    for (rounding, _) in Rounding::ALL {
        assert_eq!(rounding.mirrored().mirrored(), rounding);
        for significand in 1..4096 {
            let code = |significand, rounding| {
                encode(&E4M3, Real::exact(significand, -8), rounding, Overflow::Infinity)
            };
            let mirrored = code(-significand, rounding.mirrored());
            assert_eq!(code(significand, rounding) | 0x80, mirrored, "{rounding} {significand}");
        }
    }
}

#[test]
fn overflow_rules_are_read_as_they_are_printed() {
    for overflow in [Overflow::Infinity, Overflow::Ieee, Overflow::Saturate] {
        assert_eq!(overflow.name().parse(), Ok(overflow));
    }
    let error = "wrap".parse::<Overflow>().unwrap_err();
    assert_eq!(error.to_string(), "unknown overflow 'wrap'; one of ieee, infinity, saturate");
}
