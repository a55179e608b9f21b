// One row or one column is its own transpose: nothing to do.
//@ kernel   transpose_rect_line
//@ op       transpose_rect_in_place
//@ where    rows = 1 OR cols = 1
//@ block    32
//@ grid     1
//@ args     dst

#include "common.cuh"

extern "C" __global__ void transpose_rect_line(elem *) {}
