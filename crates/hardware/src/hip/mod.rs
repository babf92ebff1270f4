//! AMD GPUs.
