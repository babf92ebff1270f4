//! Some rows and columns of a product that was observed.

use bitmma_engine::Matrix;
use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{Class, Format, decode};
use bitmma_engine::gemm::Given;

use super::Observed;
use super::row::Mismatch;
use crate::error::Error;
use crate::scheme::Scheme;

/// Operands and D at some rows and columns.
pub(super) struct Piece {
    /// A and B in every reading of their words.
    a: Vec<Matrix>,
    b: Vec<Matrix>,
    c: Option<Matrix>,
    scale_a: Option<Matrix>,
    scale_b: Option<Matrix>,
    d: Matrix,
    /// Where its elements are in D: the first block, and in each block rows and columns.
    block: usize,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

/// How far a scheme agrees.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement {
    pub(super) agreeing: usize,
    pub(super) compared: usize,
    pub(super) first: Option<Mismatch>,
}

impl Agreement {
    pub(super) fn is_whole(&self) -> bool {
        self.agreeing == self.compared
    }
}

/// The same words in another format.
fn readings(matrix: &Matrix) -> Result<Vec<Matrix>, Error> {
    let mut all = vec![];
    for &format in super::readings(matrix.format()) {
        if format != matrix.format() {
            all.push(Matrix::with_codes(format, matrix.shape(), matrix.codes().clone())?);
        }
    }
    all.insert(0, matrix.clone());
    Ok(all)
}

impl Piece {
    /// These rows and columns of a block.
    pub(super) fn new(
        observed: &Observed<'_>,
        block: usize,
        rows: Vec<usize>,
        columns: Vec<usize>,
    ) -> Result<Piece, Error> {
        let cut = |matrix: &Matrix, rows: &[usize], columns: &[usize]| {
            let shape = (1, rows.len(), columns.len());
            Matrix::from_fn(matrix.format(), shape, |_, row, column| {
                matrix.get(block, rows[row], columns[column])
            })
        };
        let all = |count: usize| (0..count).collect::<Vec<usize>>();
        let Observed { a, b, c, scale_a, scale_b, d } = observed;
        let k = all(a.columns());
        Ok(Piece {
            a: readings(&cut(a, &rows, &k)?)?,
            b: readings(&cut(b, &k, &columns)?)?,
            c: c.map(|c| cut(c, &rows, &columns)).transpose()?,
            scale_a: scale_a.map(|scale| cut(scale, &rows, &all(scale.columns()))).transpose()?,
            scale_b: scale_b.map(|scale| cut(scale, &all(scale.rows()), &columns)).transpose()?,
            d: cut(d, &rows, &columns)?,
            block,
            rows,
            columns,
        })
    }

    /// All of it.
    pub(super) fn whole(observed: &Observed<'_>) -> Result<Piece, Error> {
        let Observed { a, b, c, scale_a, scale_b, d } = *observed;
        let [c, scale_a, scale_b] = [c, scale_a, scale_b].map(|one| one.cloned());
        let (rows, columns) = ((0..d.rows()).collect(), (0..d.columns()).collect());
        let (a, b) = (readings(a)?, readings(b)?);
        Ok(Piece { a, b, c, scale_a, scale_b, d: d.clone(), block: 0, rows, columns })
    }

    /// Products that one scheme takes.
    pub(super) fn products(&self) -> usize {
        self.d.codes().len().saturating_mul(self.a[0].columns())
    }

    /// What a scheme makes of it; a scheme that cannot compute it agrees nowhere.
    pub(super) fn compare(&self, scheme: &Scheme) -> Agreement {
        self.compare_each(&[scheme]).remove(0)
    }

    /// The same of schemes that share a target and the formats of A and B.
    pub(super) fn compare_each(&self, schemes: &[&Scheme]) -> Vec<Agreement> {
        let of = |matrices: &'_ [Matrix], format: Format| {
            matrices.iter().position(|matrix| matrix.format() == format)
        };
        let none = Agreement { compared: self.d.codes().len(), ..Agreement::default() };
        let read = |scheme: &&Scheme| Some((of(&self.a, scheme.a)?, of(&self.b, scheme.b)?));
        let Some((a, b)) = schemes.first().copied().and_then(|scheme| read(&scheme)) else {
            return vec![none; schemes.len()];
        };
        let given = Given {
            a: (&self.a[a]).into(),
            b: (&self.b[b]).into(),
            c: self.c.as_ref(),
            scale_a: self.scale_a.as_ref(),
            scale_b: self.scale_b.as_ref(),
        };
        let computed = Scheme::products(schemes, &given).into_iter();
        computed.map(|computed| computed.map_or(none.clone(), |computed| self.agreement(&computed))).collect()
    }

    /// How far a product agrees.
    fn agreement(&self, computed: &Matrix) -> Agreement {
        let format = self.d.format();
        let is_nan = |code| decode(&format, code).class == Class::Nan;
        let mut agreement = Agreement { compared: self.d.codes().len(), ..Agreement::default() };
        for (index, (observed, computed)) in self.d.iter().zip(computed.iter()).enumerate() {
            if observed == computed || (is_nan(observed) && is_nan(computed)) {
                agreement.agreeing += 1;
            } else if agreement.first.is_none() {
                let (rows, columns) = (self.rows.len(), self.columns.len());
                let (block, row, column) = (index / columns / rows, index / columns % rows, index % columns);
                let element = [self.block + block, self.rows[row], self.columns[column]];
                let [observed, computed] = [observed, computed].map(|code| Coded::new(&format, code));
                agreement.first = Some(Mismatch { element, observed, computed });
            }
        }
        agreement
    }
}
