// For kernels that are launched early (`launch early`): included by templates, no template of its own. Their blocks may
// begin once those of the kernel in front have nothing more to do, while what it wrote is still on its way, or
// as soon as it lets them. A launch of 512 x 512 at 4 bytes takes 1.00 us in a graph of many, 1.36 without (H200).
//
// Whatever is in global memory is read and written behind this wait only, by every block. No pointer may be `__restrict__`:
// what nobody seems to write the compiler may read before.
#if __CUDA_ARCH__ >= 900 && !defined __HOSTCUDA__ // the CPU stand-in of the tests speaks no PTX
static __device__ void wait_for_earlier() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#else
static __device__ void wait_for_earlier() {
}
#endif
