// An 8K picture becomes gray with the tuned kernel. The program needs the driver, and nothing of tiletune.
#include "tuned.h"
#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 7680 * 4320 };

static void check(int status) {
    if (status != TUNED_OK) { // a code of tuned.h, or a CUresult
        fprintf(stderr, "%s\n", tuned_error(status));
        exit(1);
    }
}

int main(void) {
    unsigned char *rgb = malloc(3 * PIXELS), *gray = malloc(PIXELS);
    CUdevice device;
    CUcontext context;
    CUdeviceptr on_rgb, on_gray;
    tuned_plan plan;
    if (!rgb || !gray)
        return 1;
    for (size_t i = 0; i < 3 * PIXELS; i++)
        rgb[i] = (unsigned char)(i * 7 + i / 4096);
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    check(cuMemAlloc(&on_rgb, 3 * PIXELS));
    check(cuMemAlloc(&on_gray, PIXELS));
    check(cuMemcpyHtoD(on_rgb, rgb, 3 * PIXELS));
    check(tuned_plan_make(&plan, TUNED_GRAY_WIDE_PIXELS_33177600));
    check(tuned_launch_gray_wide(&plan, on_rgb, on_gray, NULL));
    check(cuMemcpyDtoH(gray, on_gray, PIXELS)); // waits for the kernel
    int wrong = 0;
    for (size_t i = 0; i < PIXELS; i++)
        wrong += gray[i] != (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
    printf("%d pixels, %d of them wrong\n", PIXELS, wrong);
    free(rgb);
    free(gray);
    return wrong != 0;
}
