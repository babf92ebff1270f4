//! Codes that are held already, and the kinds of what can be wrong with them.

use bitmma_engine::catalogue::LookupError;
use bitmma_engine::formats::{E2M1, E4M3, F16, TF32};
use bitmma_engine::{Architecture, Codes, Error, Matrix, Revision, Simulator};

#[test]
fn codes_are_taken_and_given_back() {
    let codes = vec![0x3c00, 0x7bff, 0x0001, 0x8000, 0xfe00, 0x7c00];
    let matrix = Matrix::with_codes(F16, (1, 2, 3), Codes::U16(codes.clone())).unwrap();
    assert_eq!(matrix, Matrix::single(F16, 2, 3, codes.iter().map(|code| u64::from(*code))).unwrap());
    assert_eq!(matrix.into_codes(), Codes::U16(codes));
}

#[test]
fn wider_integers_are_narrowed() {
    let matrix = Matrix::with_codes(E4M3, (1, 1, 2), Codes::U32(vec![0x7e, 0x81])).unwrap();
    assert_eq!(matrix.codes(), &Codes::U8(vec![0x7e, 0x81]));
}

#[test]
fn each_mistake_has_its_kind() {
    let wrong = |format, shape, codes| Matrix::with_codes(format, shape, codes).unwrap_err();
    assert!(matches!(wrong(F16, (1, 2, 3), Codes::U16(vec![0; 5])), Error::Count { .. }));
    assert!(matches!(wrong(E2M1, (1, 1, 2), Codes::U8(vec![0xf, 0x10])), Error::Code { .. }));
    assert!(matches!(wrong(E2M1, (1, 1, 2), Codes::U16(vec![0xf, 0x10])), Error::Code { .. }));
    assert!(matches!(wrong(F16, (usize::MAX, 2, 3), Codes::U16(vec![])), Error::TooLarge { .. }));
    assert!(Matrix::with_codes(TF32, (1, 1, 1), Codes::U32(vec![u32::MAX])).is_ok());
    let unknown = Simulator::instruction(Architecture::Volta, "mma.m1", Revision::Hardware);
    assert!(matches!(unknown, Err(Error::Lookup(LookupError::UnknownInstruction { .. }))));
    let open = Simulator::instruction(Architecture::Ampere, "mma.m8n8k4.f32.f16.f16.f32", Revision::Hardware);
    assert!(matches!(open, Err(Error::NoModel { .. })));
}
