// The 5 x 5 Gauss filter of the tuner ATF, by A. Rasch and others, as KTT has it.
// KTT's values are 1 to 4092 for each size. Its constraints leave only the divisors of 4092.
//@ kernel    gaussian_1
//@ problem   rows 4092
//@ problem   cols 4092
//@ buffer    src f32 (rows + 4) * (cols + 4) in uniform
//@ buffer    unused f32 1 scratch
//@ buffer    dst f32 rows * cols out
//@ derived   INPUT_SIZE_L_1 rows
//@ derived   INPUT_SIZE_L_2 cols
//@ param     CACHE_L_CB 0 1
//@ param     CACHE_P_CB 0 1
//@ param     G_CB_RES_DEST_LEVEL 2
//@ param     L_CB_RES_DEST_LEVEL 2 1 0
//@ param     P_CB_RES_DEST_LEVEL 2 1 0
//@ param     OCL_DIM_L_1 0 1
//@ param     OCL_DIM_L_2 0 1
//@ param     L_CB_SIZE_L_1 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     P_CB_SIZE_L_1 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     NUM_WG_L_1 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     NUM_WI_L_1 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     L_CB_SIZE_L_2 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     P_CB_SIZE_L_2 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     NUM_WG_L_2 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     NUM_WI_L_2 1 2 3 4 6 11 12 22 31 33 44 62 66 93 124 132 186 341 372 682 1023 1364 2046 4092
//@ param     L_REDUCTION 1
//@ param     P_WRITE_BACK 0
//@ param     L_WRITE_BACK 2
//@ where     L_CB_RES_DEST_LEVEL >= P_CB_RES_DEST_LEVEL
//@ where     OCL_DIM_L_1 != OCL_DIM_L_2
//@ where     rows % L_CB_SIZE_L_1 = 0
//@ where     L_CB_SIZE_L_1 % P_CB_SIZE_L_1 = 0
//@ where     (rows / L_CB_SIZE_L_1) % NUM_WG_L_1 = 0
//@ where     (L_CB_SIZE_L_1 / P_CB_SIZE_L_1) % NUM_WI_L_1 = 0
//@ where     NUM_WI_L_1 <= ceil_div(rows, NUM_WG_L_1)
//@ where     cols % L_CB_SIZE_L_2 = 0
//@ where     L_CB_SIZE_L_2 % P_CB_SIZE_L_2 = 0
//@ where     (cols / L_CB_SIZE_L_2) % NUM_WG_L_2 = 0
//@ where     (L_CB_SIZE_L_2 / P_CB_SIZE_L_2) % NUM_WI_L_2 = 0
//@ where     NUM_WI_L_2 <= ceil_div(cols, NUM_WG_L_2)
// CUDA's limits of static shared memory and of a thread's local memory. KTT lets the compiler find out.
//@ let       items_1 L_CB_SIZE_L_1 / NUM_WI_L_1
//@ let       items_2 L_CB_SIZE_L_2 / NUM_WI_L_2
//@ let       cells L_CB_SIZE_L_1 * L_CB_SIZE_L_2
//@ let       in_shared CACHE_L_CB * items_1 * (NUM_WI_L_1 + 4) * items_2 * (NUM_WI_L_2 + 4)
//@ let       in_local CACHE_P_CB * 25 * P_CB_SIZE_L_1 * P_CB_SIZE_L_2
//@ where     4 * (in_shared + iif(L_CB_RES_DEST_LEVEL = 1 OR P_CB_RES_DEST_LEVEL = 1, cells, 0)) <= 49152
//@ where     4 * (in_local + iif(L_CB_RES_DEST_LEVEL = 0, items_1 * items_2, iif(P_CB_RES_DEST_LEVEL = 0, P_CB_SIZE_L_1 * P_CB_SIZE_L_2, 0))) <= 524288
//@ block     iif(OCL_DIM_L_1 = 0, NUM_WI_L_1, NUM_WI_L_2), iif(OCL_DIM_L_1 = 1, NUM_WI_L_1, NUM_WI_L_2)
//@ grid      iif(OCL_DIM_L_1 = 0, NUM_WG_L_1, NUM_WG_L_2), iif(OCL_DIM_L_1 = 1, NUM_WG_L_1, NUM_WG_L_2)
//@ args      src, unused, dst
//@ default   CACHE_L_CB=0 CACHE_P_CB=0 G_CB_RES_DEST_LEVEL=2 L_CB_RES_DEST_LEVEL=2 P_CB_RES_DEST_LEVEL=2 OCL_DIM_L_1=1 OCL_DIM_L_2=0 L_CB_SIZE_L_1=4 P_CB_SIZE_L_1=1 NUM_WG_L_1=1023 NUM_WI_L_1=4 L_CB_SIZE_L_2=124 P_CB_SIZE_L_2=1 NUM_WG_L_2=33 NUM_WI_L_2=124 L_REDUCTION=1 P_WRITE_BACK=0 L_WRITE_BACK=2
//@ reference gaussian_reference
//@ block     32, 8
//@ grid      ceil_div(cols, 32), ceil_div(rows, 8)
//@ args      src, dst, i32 rows, i32 cols
//@ tolerance rel 1e-5

extern "C" __global__ void gaussian_reference(const float *src, float *dst, int rows, int cols) {
    const float weights[5][5] = {{2, 4, 5, 4, 2}, {4, 9, 12, 9, 4}, {5, 12, 15, 12, 5}, {4, 9, 12, 9, 4}, {2, 4, 5, 4, 2}};
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    if (x >= cols || y >= rows)
        return;
    for (int j = 0; j < 5; j++)
        for (int i = 0; i < 5; i++)
            sum += weights[j][i] * src[(y + j) * (cols + 4) + x + i];
    dst[y * cols + x] = sum;
}
#include "../sources/KTT/Examples/AtfSamples/GaussianStatic1.cu"
