//! The risky designs that the models have are those the paper lists, and what else they turn out to have.

use std::collections::BTreeSet;

use bitmma_analysis::risk::{Risk, assess, assess_all};
use bitmma_engine::formats::{F32, F64};
use bitmma_engine::{Model, Revision};

/// A row is affected: architecture, A's format, D's format.
type Affected = BTreeSet<(&'static str, &'static str, &'static str)>;

#[test]
fn the_papers_table_is_derived() {
    for revision in Revision::ALL {
        let assessed = assess_all(revision, 7).unwrap();
        let mut found: Vec<Affected> = vec![BTreeSet::new(); Risk::ALL.len()];
        for one in &assessed {
            for (affected, verdict) in found.iter_mut().zip(&one.verdicts) {
                assert_eq!(
                    verdict.present(),
                    verdict.why.is_some(),
                    "{} {:?}: the parameters say {:?}, the search says {:?}",
                    one.subject.name,
                    verdict.risk,
                    verdict.why,
                    verdict.witness
                );
                if verdict.present() {
                    affected.extend(
                        one.subject.rows.iter().map(|row| (row.architecture.name(), row.a.name, row.d.name)),
                    );
                }
            }
        }
        let [flush, small, narrow, output, skewed] = &found[..] else { panic!() };
        assert_eq!(*flush, BTreeSet::from([("cdna2", "f16", "f32")]));
        let fp8 = |arch| ["e4m3", "e5m2"].into_iter().flat_map(move |a| ["f16", "f32"].map(|d| (arch, a, d)));
        assert_eq!(*small, fp8("ada").chain(fp8("hopper")).collect());
        assert_eq!(*narrow, small.iter().copied().filter(|row| row.2 == "f32").collect());
        assert!(output.iter().all(|row| row.2 == "f16" && !row.0.starts_with("cdna")));
        let architectures: BTreeSet<_> = output.iter().map(|row| row.0).collect();
        assert_eq!(architectures.len(), 7, "all NVIDIA architectures: {architectures:?}");
        // the paper's table leaves out XF32, which its text has, and FP64 forms with a directed rounding
        let (directed, cdna3): (Affected, Affected) = skewed.iter().partition(|row| row.1 == "f64");
        assert!(directed.iter().all(|row| !row.0.starts_with("cdna")));
        let formats: BTreeSet<_> = cdna3.iter().map(|row| (row.0, row.1)).collect();
        let expected = ["bf16", "e4m3fnuz", "e5m2fnuz", "f16", "xf32"].map(|format| ("cdna3", format));
        assert_eq!(formats, BTreeSet::from(expected));
    }
}

/// Witnesses are small, and a user's own model gets its verdicts, too.
#[test]
fn a_users_model() {
    let text = "model = \"T-FDPA\"\nA = \"e5m2\"\nB = \"e5m2\"\nC = \"f32\"\nrho = \"RD-E8M13\"\nL_max = 8\nF = 14\n";
    let model = Model::from_toml(text).unwrap();
    let verdicts = assess(&model, 8, 1).unwrap();
    let present: Vec<Risk> =
        verdicts.iter().filter(|verdict| verdict.present()).map(|one| one.risk).collect();
    assert_eq!(present, [Risk::SmallF, Risk::NarrowRho, Risk::Asymmetry]);
    for verdict in verdicts.iter().filter(|verdict| verdict.present()) {
        let case = &verdict.witness.as_ref().unwrap().case;
        let elements = case.a.iter().chain(&case.b).filter(|code| **code != 0).count();
        assert!(elements <= 4, "{:?}: {case:?}", verdict.risk);
    }
    let fma = Model::new(
        F64,
        F64,
        F64,
        bitmma_engine::arithmetic::Operation::Fma,
        bitmma_engine::arithmetic::Conversion::RNE_FP64,
    );
    assert!(assess(&fma, 4, 1).unwrap().iter().all(|verdict| !verdict.present()));
    let fma = Model::new(
        F32,
        F32,
        F32,
        bitmma_engine::arithmetic::Operation::Fma,
        bitmma_engine::arithmetic::Conversion::RNE_FP32,
    );
    assert!(assess(&fma, 4, 1).unwrap().iter().all(|verdict| !verdict.present()));
}
