//! Architectures, revisions, extents, filters.

use std::collections::HashMap;

use bitmma_arithmetic::FAMILIES;
use bitmma_catalogue::{
    Architecture, Evidence, Extent, Filter, LookupError, Revision, Vendor, catalogue, chips, model_family,
};
use bitmma_formats::table;

#[test]
fn names_and_targets() {
    let expected = [
        ("volta", "sm_70", Vendor::Nvidia),
        ("turing", "sm_75", Vendor::Nvidia),
        ("ampere", "sm_80", Vendor::Nvidia),
        ("ada", "sm_89", Vendor::Nvidia),
        ("hopper", "sm_90a", Vendor::Nvidia),
        ("blackwell", "sm_100a", Vendor::Nvidia),
        ("rtx-blackwell", "sm_120a", Vendor::Nvidia),
        ("cdna1", "gfx908", Vendor::Amd),
        ("cdna2", "gfx90a", Vendor::Amd),
        ("cdna3", "gfx942", Vendor::Amd),
    ];
    let units = Architecture::ALL.into_iter().filter(|one| one.unit() == *one);
    let ours: Vec<_> = units.map(|a| (a.name(), a.target(), a.vendor())).collect();
    assert_eq!(ours, expected);
}

#[test]
fn every_spelling_means_one_architecture() {
    let mut seen = HashMap::new();
    for architecture in Architecture::ALL {
        let own = [architecture.name(), architecture.target()];
        for spelling in own.into_iter().chain(architecture.aliases()) {
            assert_eq!(spelling.parse::<Architecture>().unwrap(), architecture, "{spelling}");
            assert_eq!(spelling.to_uppercase().parse::<Architecture>().unwrap(), architecture);
            assert!(seen.insert(spelling, architecture).is_none(), "{spelling} is there twice");
        }
        if let Some(chip) = architecture.papers_chip() {
            assert_eq!(chip.parse::<Architecture>().unwrap(), architecture);
        }
        assert_eq!(architecture.to_string().parse::<Architecture>().unwrap(), architecture);
    }
    // spellings the documents promise
    for (text, name) in [
        ("sm_90", "hopper"),
        ("sm_100", "blackwell"),
        ("sm_120", "rtx-blackwell"),
        ("sm_86", "ampere"),
        ("a2", "ampere"),
        ("RTX 4090", "ada"),
        ("H200", "hopper"),
        ("mi250x", "cdna2"),
        ("RTX_Blackwell", "rtx-blackwell"),
    ] {
        assert_eq!(text.parse::<Architecture>().unwrap().name(), name);
    }
}

#[test]
fn unknown_architectures_are_refused_with_the_nearest() {
    let message = |text: &str| text.parse::<Architecture>().unwrap_err().to_string();
    let all = format!("one of {}", Architecture::ALL.map(Architecture::name).join(", "));
    assert_eq!(message("hoper"), format!("unknown architecture 'hoper'; did you mean hopper?; {all}"));
    assert_eq!(message("cnda3"), format!("unknown architecture 'cnda3'; did you mean cdna3?; {all}"));
    assert_eq!(message("banana split"), format!("unknown architecture 'banana split'; {all}"));
    assert_eq!(message("h1000"), format!("unknown architecture 'h1000'; did you mean h100?; {all}"));
    assert_eq!(message("rtx 409"), format!("unknown architecture 'rtx 409'; did you mean rtx 4090?; {all}"));
    assert_eq!(message("ml300x"), format!("unknown architecture 'ml300x'; did you mean mi300x?; {all}"));
    for no_suggestion in [
        "rtx4065",
        "mi200z",
        "h300",
        "gtx 480",
        "b400",
        "9999",
        "appel",
        "j100",
        "q4",
        "t40",
        "a20",
        "maple",
        "amd",
        "nvidia",
        "ampule tree",
        "hpc",
        "cuda",
        "rocm",
        "vol",
        "x",
        "",
    ] {
        let message = message(no_suggestion);
        assert!(
            message.starts_with("unknown architecture") && !message.contains("did you mean"),
            "{message}"
        );
    }
}

/// Names as vendors, drivers and shops write them.
#[test]
fn products_mean_the_architecture_of_their_target() {
    let expected = [
        ("NVIDIA H100 80GB HBM3", "hopper"),
        ("NVIDIA H100 PCIe", "hopper"),
        ("NVIDIA GH200 480GB", "hopper"),
        ("NVIDIA H20", "hopper"),
        ("NVIDIA A100-SXM4-80GB", "ampere"),
        ("NVIDIA A100-PCIE-40GB", "ampere"),
        ("NVIDIA A10G", "ampere"),
        ("NVIDIA RTX A6000", "ampere"),
        ("NVIDIA GeForce RTX 3090 Ti", "ampere"),
        ("NVIDIA GeForce RTX 3070 Laptop GPU", "ampere"),
        ("Tesla V100-SXM2-16GB", "volta"),
        ("NVIDIA TITAN V", "volta"),
        ("Tesla T4", "turing"),
        ("Quadro RTX 6000", "turing"),
        ("NVIDIA RTX 6000 Ada Generation", "ada"),
        ("NVIDIA GeForce RTX 4090", "ada"),
        ("4090", "ada"),
        ("3060 ti", "ampere"),
        ("2080ti", "turing"),
        ("5090", "rtx-blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-blackwell"),
        ("NVIDIA L40S", "ada"),
        ("NVIDIA B200", "blackwell"),
        ("AMD Instinct MI300X", "cdna3"),
        ("AMD Instinct MI250X / MI250", "cdna2"),
        ("AMD Instinct MI325X OAM", "cdna3"),
        ("sm_90a", "hopper"),
        ("sm_100f", "blackwell"),
        ("sm_120", "rtx-blackwell"),
        ("compute_89", "ada"),
        ("gfx90a", "cdna2"),
    ];
    for (text, name) in expected {
        assert_eq!(text.parse::<Architecture>().map(Architecture::name), Ok(name), "{text}");
    }
}

/// Every name of the table is found in it, and means one thing.
#[test]
fn every_product_of_the_table_is_found() {
    let mut seen = HashMap::new();
    for target in chips::targets() {
        for product in [&target.name].into_iter().chain(target.products) {
            let name = product.trim_end_matches('*');
            if name.contains(' ') && target.name == *product {
                continue; // a description, not a name
            }
            assert_eq!(chips::target(name).map(|found| found.name), Some(target.name), "{product}");
            assert!(
                seen.insert(product.to_lowercase(), target.name).is_none_or(|other| other == target.name),
                "{product}"
            );
        }
        assert!(target.architecture.is_some() == target.about.is_empty(), "{}", target.name);
        assert!(target.compared.is_none() || target.architecture.is_none() && target.nearest.is_some());
    }
}

/// What is known and not modelled says what it is, and gets no other chip's name.
#[test]
fn products_that_are_not_modelled_say_so() {
    let expected = [
        ("mi350x", "gfx950, CDNA4", Some(Architecture::Cdna3)),
        ("AMD Instinct MI355X", "gfx950, CDNA4", Some(Architecture::Cdna3)),
        ("gfx950", "CDNA4", Some(Architecture::Cdna3)),
        ("gfx1200", "its v_wmma instructions", None),
        ("AMD Radeon RX 7900 XTX", "gfx1100, its v_wmma instructions", None),
        ("rdna3", "gfx1100, its v_wmma", None),
        ("rdna4", "gfx1200, its v_wmma", None),
        ("AMD Radeon AI PRO R9700", "gfx1201, its v_wmma", None),
        ("b300", "sm_103, Blackwell Ultra", Some(Architecture::Blackwell)),
        ("9070", "gfx1201, its v_wmma", None),
        ("9070 XT", "gfx1201, its v_wmma", None),
        ("RX 9070", "gfx1201, its v_wmma", None),
        ("7900", "gfx1100, its v_wmma", None),
        ("7900XTX", "gfx1100, its v_wmma", None),
        ("7800 xt", "gfx1101, its v_wmma", None),
        ("6900", "gfx1030, it has no matrix unit", None),
        ("6700", "gfx1031, it has no matrix unit", None),
        ("5700 XT", "gfx1010, it has no matrix unit", None),
        ("1080 Ti", "sm_61, it has no matrix unit", None),
        ("Tesla K80", "sm_35, it has no matrix unit", None),
        ("Tesla M4", "sm_52, it has no matrix unit", None),
        ("TPU", "Google's accelerator", None),
        ("tpu v5e", "TPU, Google's accelerator", None),
        ("Google TPU v4", "TPU, Google's accelerator", None),
        ("Trillium", "TPU, Google's accelerator", None),
        ("gaudi", "Intel's accelerator", None),
        ("Intel Gaudi 3", "Gaudi, Intel's accelerator", None),
        ("HPU", "Gaudi, Intel's accelerator", None),
        ("apple", "Apple's GPU, a GPU of Apple silicon", None),
        ("Apple M4", "Apple's GPU, a GPU of Apple silicon", None),
        ("M4", "Apple's GPU, a GPU of Apple silicon", None),
        ("m3 max", "Apple's GPU, a GPU of Apple silicon", None),
        ("Trainium", "AWS's accelerator", None),
        ("trn2.48xlarge", "Trainium, AWS's accelerator", None),
        ("inf2", "Inferentia, AWS's accelerator", None),
        ("MTIA", "Meta's accelerator", None),
        ("Intel Arc A770", "Intel's GPU, its XMX", None),
        ("B580", "Intel's GPU, its XMX", None),
        ("Ponte Vecchio", "Intel's GPU, its XMX", None),
        ("Intel Data Center GPU Max 1550", "Intel's GPU, its XMX", None),
        ("amx", "Processor, a processor, whose instructions are units of their own", None),
        ("cpu", "Processor, a processor", None),
        ("Ascend 910B", "Ascend, an accelerator", None),
        ("wormhole", "Accelerator, an accelerator", None),
        ("Groq", "Accelerator, an accelerator", None),
        ("NVIDIA GB300", "sm_103, Blackwell Ultra", Some(Architecture::Blackwell)),
        ("gb10", "sm_121, Blackwell of GB10", Some(Architecture::RtxBlackwell)),
        ("sm_72", "Volta of Jetson Xavier", Some(Architecture::Volta)),
        ("Jetson AGX Orin", "sm_87, Ampere of Jetson Orin", Some(Architecture::Ampere)),
        ("mi50", "gfx906, it has no matrix unit", None),
        ("NVIDIA GeForce GTX 1660 Ti", "sm_75 without Tensor Cores, it has no matrix unit", None),
        ("Tesla P100-PCIE-16GB", "sm_60, it has no matrix unit", None),
    ];
    for (text, about, nearest) in expected {
        let error = text.parse::<Architecture>().unwrap_err();
        assert!(
            matches!(&error, LookupError::NotModelled { target, .. } if target.nearest == nearest),
            "{text}: {error}"
        );
        let message = error.to_string();
        assert!(message.starts_with(&format!("{text} is not modeled: {about}")), "{message}");
        assert!(!message.contains("did you mean"), "{message}");
    }
}

/// What computes as another architecture has that one's instructions, by the same names and models, and the reason as evidence.
#[test]
fn architectures_like_others_have_their_rows() {
    for architecture in Architecture::ALL.into_iter().filter(|one| one.unit() != *one) {
        assert_eq!(architecture.unit().unit(), architecture.unit(), "{architecture}");
        assert_eq!(architecture.vendor(), architecture.unit().vendor(), "{architecture}");
        let rows = |of: Architecture| catalogue().iter().filter(move |row| row.architecture == of);
        assert_eq!(rows(architecture).count(), rows(architecture.unit()).count(), "{architecture}");
        for (row, original) in rows(architecture).zip(rows(architecture.unit())) {
            assert_eq!((row.name(), row.aliases()), (original.name(), original.aliases()), "{architecture}");
            assert_eq!(
                row.model(Revision::Hardware),
                original.model(Revision::Hardware),
                "{architecture} {row}"
            );
            assert!(matches!(row.evidence, Evidence::Inferred { .. }), "{architecture} {row}");
        }
    }
}

#[test]
fn revisions_read_as_they_print() {
    for revision in Revision::ALL {
        assert_eq!(revision.to_string().to_uppercase().parse::<Revision>().unwrap(), revision);
    }
    let error = "papre".parse::<Revision>().unwrap_err();
    assert_eq!(error.to_string(), "unknown revision 'papre'; one of hardware, paper");
}

#[test]
fn extents() {
    let n = Extent::range(8, 256, 8);
    assert_eq!(n.sizes().count(), 32);
    assert!((0..300).all(|size| n.contains(size) == n.sizes().any(|one| one == size)));
    assert_eq!((n.to_string(), n.in_words()), ("{8..256}".into(), "8 to 256 in steps of 8".into()));
    let m = Extent::range(64, 128, 64);
    assert_eq!((m.to_string(), m.in_words()), ("{64|128}".into(), "64 or 128".into()));
    let one = Extent::one(16);
    assert_eq!((one.to_string(), one.in_words(), one.is_range()), ("16".into(), "16".into(), false));
    assert_eq!(one.sizes().collect::<Vec<_>>(), [16]);
}

#[test]
fn filters() {
    assert_eq!(Filter::default().rows().count(), catalogue().len());
    let by_architecture: usize = Architecture::ALL
        .into_iter()
        .map(|architecture| Filter { architecture: Some(architecture), ..Filter::default() }.rows().count())
        .sum();
    assert_eq!(by_architecture, catalogue().len());
    let count = |format| {
        let rows = Filter { format: Some(format), ..Filter::default() }.rows();
        rows.filter(|row| row.architecture.unit() == row.architecture).count()
    };
    assert_eq!(count(table::E4M3FNUZ), 6);
    assert_eq!(count(table::UE4M3), 3);
    for known in &FAMILIES {
        let family = model_family(&known.name.to_lowercase()).unwrap();
        let filter = Filter { model: Some(family), ..Filter::default() };
        let has_rows = known.source.starts_with("Paper") || family == "Dot-Add"; // m8n8k4 of Hopper
        assert_eq!(filter.rows().count() > 0, has_rows, "{family}");
        assert!(filter.rows().all(|row| row.model(Revision::Paper).unwrap().operation.name() == family));
    }
    let error = model_family("FDPA").unwrap_err();
    assert!(error.to_string().starts_with("unknown model 'FDPA'; one of FTZ-AddMul, FMA"));
}
