//! Results as classes that Python takes for frozen dataclasses: constructor, attributes, `repr`, `==`, hash, `vars`,
//! `dataclasses.asdict` and `replace`, `copy` and pickle.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A `#[pyclass]` of these fields. Two are equal if their fields are (`compared: true`), or if they are one object,
/// as arrays have no one truth. `hidden` fields are not in its `repr`. Properties and methods follow the fields.
macro_rules! record {
    (
        $(#[$about:meta])*
        $name:ident(compared: $compared:literal, hidden: [$($hidden:ident),*]) {
            $($(#[$doc:meta])* $field:ident: $type:ty,)+
        }
        $($methods:tt)*
    ) => {
        $(#[$about])*
        #[pyclass(frozen, get_all, module = "bitmma.analysis")]
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: $type,)+
        }

        #[pymethods]
        impl $name {
            $($methods)*

            #[new]
            fn new($($field: $type),+) -> $name {
                $name { $($field),+ }
            }

            #[classattr]
            fn __dataclass_fields__(py: Python<'_>) -> PyResult<Py<PyAny>> {
                crate::record::fields(py, stringify!($name), &[$(stringify!($field)),+])
            }

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyAny>> {
                Ok(($(stringify!($field),)+).into_pyobject(py)?.into_any().unbind())
            }

            #[getter]
            fn __dict__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
                Ok(dict!(py, $($field: &self.$field),+))
            }

            #[setter(__dict__)] // type checkers know it as writable
            fn replaced(&self, _value: &Bound<'_, PyAny>) -> PyResult<()> {
                Err(pyo3::exceptions::PyAttributeError::new_err("a result cannot be changed"))
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                crate::record::text(stringify!($name), &self.__dict__(py)?, &[$(stringify!($hidden)),*])
            }

            fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<bool> {
                Ok(slf.is(other) || $compared && crate::record::values(slf)?.eq(crate::record::values(other)?)?)
            }

            fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
                if $compared { crate::record::values(slf)?.hash() } else { Ok(slf.as_ptr() as isize >> 4) }
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
                Ok((slf.get_type().into_any(), crate::record::values(slf)?))
            }
        }
    };
}

/// What the functions of `dataclasses` look for.
pub(crate) fn fields(py: Python<'_>, name: &str, fields: &[&str]) -> PyResult<Py<PyAny>> {
    // without methods, which would be compiled for each class whenever bitmma is imported
    let bare = dict!(py, init: false, repr: false, eq: false, namespace: dict!(py, __doc__: name));
    let class = py.import("dataclasses")?.call_method("make_dataclass", (name, fields), Some(&bare))?;
    Ok(class.getattr("__dataclass_fields__")?.unbind())
}

/// The fields of an object in order.
pub(crate) fn values<'py>(object: &Bound<'py, impl PyClass>) -> PyResult<Bound<'py, PyAny>> {
    let named = object.as_any().getattr("__dict__")?.cast_into::<PyDict>()?;
    Ok(PyTuple::new(object.py(), named.values())?.into_any())
}

/// `Name(field=value, …)`.
pub(crate) fn text(name: &str, fields: &Bound<'_, PyDict>, hidden: &[&str]) -> PyResult<String> {
    let mut shown = Vec::new();
    for (field, value) in fields {
        let field: String = field.extract()?;
        if !hidden.contains(&&*field) {
            shown.push(format!("{field}={}", value.repr()?));
        }
    }
    Ok(format!("{name}({})", shown.join(", ")))
}
