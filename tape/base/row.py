"""The fields of a row of the Wengert list.

X and Y hold operands: a handle, a leaf tensor, or None.  XV, YV and ZV hold the values of the
operands and of the result where a rule needs them.  A record whose op does not have one or two
operands holds tuples in X and XV; that of a custom function has in XV what the function saved.
PARAMS is None, a tuple in the order of ``op.params``, or the float that stands for the plain
number among two operands.
"""

HANDLE, OP, X, Y, XV, YV, ZV, PARAMS, SPEC, CODE, LASTI = range(11)
WIDTH = 11
