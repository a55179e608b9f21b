//@ kernel    k
//@ problem   n 64
//@ buffer    data u8 n in file data.bin
//@ buffer    y f16 n out
//@ buffer    noise bf16 n in normal
//@ block     32
//@ grid      1
//@ args      data, y, noise
//@ metric    us time_ns / 1000
//@ objective minimize us
extern "C" void k();
n=7,warm
