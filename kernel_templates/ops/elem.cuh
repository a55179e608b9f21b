// An element of ELEM_SIZE bytes, whatever they mean.
#if ELEM_SIZE == 1
typedef unsigned char elem;
#elif ELEM_SIZE == 2
typedef unsigned short elem;
#elif ELEM_SIZE == 4
typedef unsigned int elem;
#elif ELEM_SIZE == 8
typedef uint2 elem;
#elif ELEM_SIZE == 16
typedef uint4 elem;
#endif
