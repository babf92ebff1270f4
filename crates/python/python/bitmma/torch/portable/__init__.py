"""What an emulation leaves to the host, with the same bits on every machine (``crates/portable``).

An operation of PyTorch that is no product of matrices is

1. a move, a choice, a comparison or one operation of IEEE 754 for each element (:mod:`.alike`): PyTorch computes it, and NaN gets one code;
2. a function of each element (:mod:`.elementwise`), in FP64 and rounded once;
3. a sum or what is made of sums (:mod:`.sums`, :mod:`.norms`, :mod:`.optimizers`, :mod:`.other`), in FP64, in an order that only
   shapes decide, and rounded once;
4. anything else, which PyTorch computes: it is counted in ``account.machine``, because its bits may depend on the machine.
"""
