/*
 * No kernels come with what is linked statically: tests, and programs that are tiletune's own.
 */
#include "dispatch/store_layers.h"

const tt__shipped_cubin tt__shipped_cubins[1];
const size_t tt__n_shipped_cubins;
const unsigned char tt__shipped_code[1];
