/* A stream of the driver stand-in. */
#ifndef HOSTCUDA_STREAM_H
#define HOSTCUDA_STREAM_H

#include "driver.h"

struct CUstream_st {
    unsigned magic;
    bool is_blocking; /* waits for the default stream, and that for it */
    CUgraph capture;  /* NULL: not captured */
    CUstream next;
};

/* Is a stream captured that the default stream waits for? */
bool hostcuda_blocking_capture(void);

#endif
