//! Tests of the C library: the header, and programs in C and C++ that are compiled and run.

mod header;
mod installed;
mod programs;
mod tools;
