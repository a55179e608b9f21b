/* Occupancy: values worked out by hand from NVIDIA's rules, and, where the toolkit has it, NVIDIA's own
 * calculator on every combination of a grid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/explain/occupancy.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAS_CALCULATOR 1
#endif

static void test_known_values(void **state) {
    static const struct {
        int cc;
        tt__block_needs needs;
        int blocks, percent;
    } cases[] = {
        {80, {256, 24, 4224}, 8, 100},      /* A100, 32 x 8 threads and a padded tile of 4 bytes */
        {80, {256, 32, 0}, 8, 100},         /* 64 warps of 1024 registers: just all of them */
        {80, {256, 33, 0}, 6, 75},          /* 1280 a warp: 12 in each quarter */
        {90, {1024, 64, 0}, 1, 50},         /* 32 warps of 2048 registers */
        {90, {1024, 65, 0}, 0, 0},          /* cannot be launched */
        {90, {256, 32, 100 * 1024}, 2, 25}, /* 228 KB hold two of 101 */
        {90, {32, 16, 0}, 32, 50},          /* the number of blocks is the limit */
        {90, {1, 16, 0}, 32, 50},           /* a warp is a warp */
        {86, {1024, 32, 0}, 1, 67},         /* 1536 threads */
        {86, {256, 32, 16896}, 5, 83},      /* 100 KB hold five of 17.5 */
        {89, {64, 32, 0}, 24, 100},         {75, {1024, 32, 0}, 1, 100},
        {75, {256, 32, 16384}, 4, 100}, /* nothing is reserved before Ampere */
        {100, {512, 32, 33792}, 4, 100},    {120, {128, 32, 0}, 12, 100},
        {120, {32, 255, 0}, 8, 17},         {90, {64, 256, 0}, 0, 0},
        {61, {256, 32, 0}, -1, 0}, /* not known */
        {90, {256, 0, 0}, -1, 0},           {90, {0, 32, 0}, -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int percent = (int)(tt__occupancy(cases[i].cc, &cases[i].needs) * 100 + 0.5);
        if (tt__resident_blocks(cases[i].cc, &cases[i].needs) != cases[i].blocks ||
            percent != cases[i].percent)
            print_error("case %zu\n", i);
        assert_int_equal(tt__resident_blocks(cases[i].cc, &cases[i].needs), cases[i].blocks);
        assert_int_equal(percent, cases[i].percent);
    }
}

#ifdef HAS_CALCULATOR
/* -1 if the calculator does not know the device. */
static int by_nvidia(int cc, int threads_per_sm, int shared_per_sm, const tt__block_needs *needs) {
    int reserved = cc >= 80 ? 1024 : 0;
    cudaOccDeviceProp device = {.computeMajor = cc / 10,
                                .computeMinor = cc % 10,
                                .maxThreadsPerBlock = 1024,
                                .maxThreadsPerMultiprocessor = threads_per_sm,
                                .regsPerBlock = 65536,
                                .regsPerMultiprocessor = 65536,
                                .warpSize = 32,
                                .sharedMemPerBlock = 49152,
                                .sharedMemPerMultiprocessor = (size_t)shared_per_sm,
                                .numSms = 1,
                                .sharedMemPerBlockOptin = (size_t)shared_per_sm,
                                .reservedSharedMemPerBlock = (size_t)reserved};
    cudaOccFuncAttributes function = {.maxThreadsPerBlock = 1024,
                                      .numRegs = needs->regs,
                                      .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                                      .maxDynamicSharedSizeBytes = (size_t)(shared_per_sm - reserved)};
    cudaOccDeviceState any = {.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &any, needs->threads,
                                                (size_t)needs->shared_bytes) != CUDA_OCC_SUCCESS)
        return -1;
    return result.activeBlocksPerMultiprocessor;
}

static void test_against_the_calculator(void **state) {
    static const struct {
        int cc, threads, shared_kb;
    } sms[] = {{75, 1024, 64},  {80, 2048, 164},  {86, 1536, 100}, {89, 1536, 100},
               {90, 2048, 228}, {100, 2048, 228}, {120, 1536, 100}};
    size_t compared = 0;
    (void)state;
    for (size_t i = 0; i < sizeof sms / sizeof *sms; i++)
        for (int threads = 1; threads <= 1024; threads += threads < 96 ? 31 : 64)
            for (int regs = 1; regs <= 255; regs += 3)
                for (int shared = 0; shared <= 98 * 1024; shared += 1500) {
                    tt__block_needs needs = {threads, regs, shared};
                    if (shared > sms[i].shared_kb * 1024)
                        continue;
                    int nvidia = by_nvidia(sms[i].cc, sms[i].threads, sms[i].shared_kb * 1024, &needs);
                    int ours = tt__resident_blocks(sms[i].cc, &needs);
                    if (nvidia < 0)
                        continue;
                    if (ours != nvidia)
                        print_error("cc %d, %d threads, %d registers, %d bytes: %d\n", sms[i].cc, threads,
                                    regs, shared, ours);
                    assert_int_equal(ours, nvidia);
                    compared++;
                }
    assert_true(compared > 0);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
#ifdef HAS_CALCULATOR
        cmocka_unit_test(test_against_the_calculator),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
