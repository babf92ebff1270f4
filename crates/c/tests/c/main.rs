//! Tests of the C library: the header, and programs in C and C++ that are compiled and run.

mod header;
mod installed;
mod page;
mod programs;
mod rust;
mod tools;
