/* Operations of one's own from their text: every sentence of refusal, and its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/load/parse.h"
#include "kernel/model/template.h"
#include "operation_fixture.h"

/* A line, what stands there instead (annotations without their //@), and the sentence it earns. */
static const struct {
    size_t line;
    const char *instead, *sentence;
} damages[] = {
    {2, "kernel copy", "t.cu:2:12: the kernel is called copy, as one of the library's own ops: rename it"},
    {2, "kernel transpos", "t.cu:2:12: the code has no kernel transpos, which `kernel` names"},
    {2, "kernel scal", "t.cu:2:12: the code has no kernel scal, which `kernel` names; did you mean scale?"},
    {3, "problem n", "t.cu:3:14: n has no default, expected: problem NAME VALUE"},
    {3, "problem 2n 5", "t.cu:3:13: found '2n', expected a name"},
    {3, "problem sm_count 5", "t.cu:3:13: sm_count is a property of the device, choose another name"},
    {3, "problem n -2",
     "t.cu:3:15: the default of n `-2` comes to -2, expected a whole number of at least 1"},
    {3, "problem n 1.5",
     "t.cu:3:15: the default of n `1.5` comes to 1.5, expected a whole number of at least 1"},
    {3, "problem n half",
     "t.cu:3:15: half is a variable of the problem, and only the variables of the lines above are known "
     "here"},
    {3, "problem n 1 / 0",
     "t.cu:3:15: the default of n `1 / 0` comes to NULL (a division by zero?), expected a whole number of at "
     "least 1"},
    {3, "problem n THREADS",
     "t.cu:3:15: THREADS is a parameter, and only the variables of the lines above are known here"},
    {3, "problem n sm_count",
     "t.cu:3:15: sm_count is a property of the device, and only the variables of the lines above are known "
     "here"},
    {3, "problem n time_ns", "t.cu:3:15: time_ns is the time of a launch, and only a `metric` knows it"},
    {3, "problem n (SELECT 1)",
     "t.cu:3:16: SELECT is not allowed: an expression is arithmetic and comparisons only"},
    {3, "problem n 1000\n//@ problem N 4",
     "t.cu:4:13: N differs only in capitals from n, which is a variable of the problem: choose another name"},
    {3, "problem n 1000\n//@ problem half 4",
     "t.cu:5:15: half is a variable of the problem, choose another name"},
    {3, "problem n 9223372036854775807 * 2",
     "t.cu:3:15: the default of n `9223372036854775807 * 2` comes to 1.84467e+19 (beyond 64 bits), expected "
     "a whole number"},
    {4, "problem half n // 2", "t.cu:4:20: found '//', but no comment may follow"},
    {4, "problem half m / 2", "t.cu:4:18: unknown name m"},
    {4, "problem half later\n//@ problem later 4",
     "t.cu:4:18: later is a variable of the problem, and only the variables of the lines above are known "
     "here"},
    {5, "type T", "t.cu:5:11: T has no types, expected: type NAME TYPE ..."},
    {5, "type T f23",
     "t.cu:5:12: found 'f23', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
     "e5m2; did you "
     "mean "
     "f32?"},
    {5, "type T f32 f32", "t.cu:5:16: f32 is given twice"},
    {5, "type T float",
     "t.cu:5:12: found 'float', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
     "e5m2; did "
     "you "
     "mean f32?"},
    {5, "type T elem",
     "t.cu:5:12: found 'elem', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
     "e5m2"},
    {5, "type n f32", "t.cu:5:10: n is a variable of the problem, choose another name"},
    {6, "buffer x",
     "t.cu:6:13: found '', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2"},
    {6, "buffer x T",
     "t.cu:6:15: x has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]"},
    {6, "buffer x T n",
     "t.cu:6:16: x has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]"},
    {6, "buffer x T n inn",
     "t.cu:6:18: x has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]; did you "
     "mean in?"},
    {6, "buffer x T n input",
     "t.cu:6:18: x has no direction, expected: buffer NAME TYPE LENGTH in|out|inout|scratch [DATA]; did you "
     "mean inout?"},
    {6, "buffer x U n in",
     "t.cu:6:14: found 'U', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2"},
    {6, "buffer x elem n in",
     "t.cu:6:14: found 'elem', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
     "e5m2"},
    {6, "buffer x T in",
     "t.cu:6:16: x has no length in front of `in`, expected: buffer NAME TYPE LENGTH in|out|"},
    {6, "buffer f32 T n in", "t.cu:6:12: f32 is a type, choose another name"},
    {6, "buffer x T n in unifrom",
     "t.cu:6:21: found 'unifrom', expected random, uniform, normal, zeros, file, sorted, permutation, index "
     "or a "
     "buffer above; did you "
     "mean uniform?"},
    {6, "buffer x T n in uniform 1", "t.cu:6:30: found '', expected a number"},
    {6, "buffer x T n in uniform 1 x", "t.cu:6:31: unknown name x"},
    {6, "buffer x T n in uniform 2 1", "t.cu:6:29: the lower end 2 is above the upper end 1"},
    {6, "buffer x T n in uniform 1 2 3", "t.cu:6:33: found '3' behind the end of the line's meaning"},
    {6, "buffer x i32 n in uniform 0.5 2", "t.cu:6:31: found '0.5', expected a whole number for i32"},
    {6, "buffer x u8 n in uniform 0 256", "t.cu:6:32: 256 does not fit u8, expected 0 to 255"},
    {6, "buffer x u8 n in uniform -1 2", "t.cu:6:30: -1 does not fit u8, expected 0 to 255"},
    {6, "buffer x i32 n in normal", "t.cu:6:23: normal needs a floating-point type, and i32 is none"},
    {6, "buffer x T n in file", "t.cu:6:25: found '', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in file /etc/passwd",
     "t.cu:6:26: found '/etc/passwd', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in file ../secret",
     "t.cu:6:26: found '../secret', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in file .hidden",
     "t.cu:6:26: found '.hidden', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in file a/b.bin",
     "t.cu:6:26: found 'a/b.bin', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in file ..",
     "t.cu:6:26: found '..', expected the name of a file that lies beside this one"},
    {6, "buffer x T n in y",
     "t.cu:6:21: found 'y', expected random, uniform, normal, zeros, file, sorted, permutation, index or a "
     "buffer "
     "above"},
    {6, "buffer x T n in x",
     "t.cu:6:21: found 'x', expected random, uniform, normal, zeros, file, sorted, permutation, index or a "
     "buffer "
     "above"},
    {6, "buffer x T n in a",
     "t.cu:6:21: found 'a', expected random, uniform, normal, zeros, file, sorted, permutation, index or a "
     "buffer "
     "above"},
    {6, "buffer x T n * k in", "t.cu:6:20: unknown name k"},
    {6, "buffer x T n - n in",
     "t.cu:6:16: the length of x `n - n` comes to 0, expected a whole number of 1 to 2^48 / 4"},
    {6, "buffer x T n * 1.0 in",
     "t.cu:6:16: the length of x `n * 1.0` comes to 1000.0, expected a whole number of 1 to 2^48 / 4"},
    {6, "buffer x T n / 0 in",
     "t.cu:6:16: the length of x `n / 0` comes to NULL (a division by zero?), expected a whole number of 1 "
     "to 2^48 / 4"},
    {6, "buffer x T 281474976710656 in",
     "t.cu:6:16: the length of x `281474976710656` comes to 281474976710656, expected a whole number of 1 to "
     "2^48 / 4"},
    {6, "buffer x T 9223372036854775807 * 4 in",
     "t.cu:6:16: the length of x `9223372036854775807 * 4` comes to 3.68935e+19 (beyond 64 bits), expected a "
     "whole number"},
    {6, "buffer x T (SELECT count(*) FROM tt_facts) in",
     "t.cu:6:17: SELECT is not allowed: an expression is arithmetic and comparisons only"},
    {6, "buffer x T readfile('x') in", "t.cu:6:16: unknown function readfile"},
    {6, "buffer x T n in zeros and more", "t.cu:6:27: found 'and more' behind the end of the line's meaning"},
    {7, "buffer x T n out", "t.cu:7:12: x is an operand, choose another name"},
    {7, "buffer n T n out", "t.cu:7:12: n is a variable of the problem, choose another name"},
    {7, "buffer y T n out zeros",
     "t.cu:7:22: found 'zeros', but what a buffer for `out` holds before is of no account: say inout if the "
     "kernel adds to"},
    {7, "buffer y T n scratch zeros",
     "t.cu:7:26: found 'zeros', but what a buffer for `scratch` holds before is of no account"},
    {8, "buffer counts u32 4 inout random bits",
     "t.cu:8:38: found 'bits' behind the end of the line's meaning"},
    {9, "scalar a",
     "t.cu:9:13: found '', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 e5m2"},
    {9, "scalar a f32", "t.cu:9:17: found '', expected a number"},
    {9, "scalar a f16 65505", "t.cu:9:18: 65505 does not fit f16, expected -65504 to 65504"},
    {6, "buffer x e4m3 n in uniform 0 449", "t.cu:6:34: 449 does not fit e4m3, expected -448 to 448"},
    {9, "scalar a e4m3 1", "t.cu:9:19: e4m3 is a type of buffers, and no scalar has it"},
    {9, "scalar a u8 256", "t.cu:9:17: 256 does not fit u8, expected 0 to 255"},
    {9, "scalar a bool 2", "t.cu:9:19: 2 does not fit bool, expected 0 to 1"},
    {9, "scalar a f32x4 1",
     "t.cu:9:20: a scalar is one number: give what has several as a buffer or constant"},
    {6, "buffer x f32x0 n in", "t.cu:6:18: 0 of a type, expected 1 to 4096"},
    {6, "buffer x Tx5000 n in", "t.cu:6:16: 5000 of a type, expected 1 to 4096"},
    {6, "buffer x f31x4 n in", "t.cu:6:14: found 'f31', expected a type:"},
    {6, "buffer x T n in index", "t.cu:6:26: `buffer` has an empty expression"},
    {6, "buffer x T THREADS * n in index i",
     "t.cu:6:16: the length of x depends on a parameter, and `index` fills one length"},
    {6, "buffer x T THREADS * n in file x.bin",
     "t.cu:6:16: the length of x depends on a parameter, and a file has one length"},
    {6, "buffer x T THREAD * n in", "t.cu:6:16: unknown name THREAD"},
    {6, "buffer x T n in uniform 0 THREADS", "t.cu:6:31: THREADS is a parameter, and only the problem"},
    {22, "data nosuch\n//@ block 1\n//@ grid 1\n//@ args x",
     "t.cu:22:10: the code has no kernel nosuch, which `data` names"},
    {22, "data scale\n//@ block 1\n//@ grid 1\n//@ args x, y",
     "t.cu:25:13: `data` fills what a launch reads, and y is `out`: say inout"},
    {22, "data scale\n//@ block 1\n//@ grid 1\n//@ args i64 n",
     "t.cu:22:10: this `data` kernel gets no `in`, `inout` or `constant` to fill"},
    {22, "data scale\n//@ block 1\n//@ args x", "t.cu:22:10: no `grid` annotation behind `scale`"},
    {22, "verify scale\n//@ block 1\n//@ grid 1\n//@ args y",
     "t.cu:22:12: `args` of a `verify` kernel names `error`, a double *"},
    {22, "verify scale\n//@ block 1\n//@ grid 1\n//@ args y, eror",
     "t.cu:25:13: found 'eror', expected x, y"},
    {22, "verify scale\n//@ block 1\n//@ grid 1\n//@ args error\n//@ limit -1",
     "t.cu:26:11: a limit is 0 or more"},
    {22, "limit 1", "t.cu:22:11: `limit` belongs below a `verify`"},
    {22, "per problem", "t.cu:22:9: found 'problem', expected: per configuration"},
    {3, "per configuration", "t.cu:3:9: `per configuration` belongs below a `reference`"},
    {23, "options --fmad={THREAD}",
     "t.cu:23:21: found 'THREAD' in an option, expected a `param`; did you mean THREADS?"},
    {9, "scalar a i32 2.5", "t.cu:9:18: found '2.5', expected a whole number for i32"},
    {9, "scalar a i32 3000000000",
     "t.cu:9:18: 3000000000 does not fit i32, expected -2147483648 to 2147483647"},
    {9, "scalar a u32 -1", "t.cu:9:18: -1 does not fit u32, expected 0 to 4294967295"},
    {9, "scalar a i64 9007199254740993",
     "t.cu:9:18: 9007199254740993 does not fit i64, expected -9007199254740991 to 9007199254740991"},
    {9, "scalar a f32 1e39",
     "t.cu:9:18: 1e39 does not fit f32, expected -3.4028234663852886e+38 to 3.4028234663852886e+38"},
    {9, "scalar a f32 two", "t.cu:9:18: found 'two', expected a number"},
    {9, "scalar a f32 nan", "t.cu:9:18: found 'nan', expected a number"},
    {9, "scalar a f32 2.5 x", "t.cu:9:18: found '2.5 x', expected a number"},
    {9, "scalar y f32 1", "t.cu:9:12: y is an operand, choose another name"},
    {10, "param T 32 64", "t.cu:10:11: T is a variable of the problem, choose another name"},
    {10, "param half 32 64", "t.cu:10:11: half is a variable of the problem, choose another name"},
    {10, "param x 32 64", "t.cu:10:11: x is an operand, choose another name"},
    {12, "grid ceil_div(m, THREADS)", "t.cu:12:19: unknown name m"},
    {12, "grid ceil_div(x, THREADS)", "t.cu:12:19: unknown name x"},
    {12, "grid time_ns", "t.cu:12:10: time_ns is the time of a launch, and only a `metric` knows it"},
    {13, "args y, x, count, a, i64 n",
     "t.cu:13:16: found 'count', expected x, y or a type and an expression; did you mean counts?"},
    {13, "args y, x, counts, b, i64 n", "t.cu:13:24: found 'b', expected x, y or a type and an expression"},
    {13, "args y, x, counts, a, i46 n", "t.cu:13:31: found 'n' after i46, expected ','; did you mean i16?"},
    {13, "args y, x, counts, a, n", "t.cu:13:27: n is a number: say its type, as in `i32 n`"},
    {13, "args y, x, counts, a, int n", "t.cu:13:27: int is a type of C++: write i32 n"},
    {13, "args y, x, counts, a, float3 (1, 2, n)",
     "t.cu:13:27: float3 is a type of C++: write f32x3 (1, 2, n)"},
    {13, "args y, x, counts, a, Params (i32 n)",
     "t.cu:13:34: found '(i32 n)' after Params, expected ','; a struct is written as struct (i32 n)"},
    {13, "args y, x, counts, a, THREADS",
     "t.cu:13:27: THREADS is a number: say its type, as in `i32 THREADS`"},
    {13, "args y, x, counts, a, turn\n//@ repeat 3 as turn",
     "t.cu:13:27: turn is a number: say its type, as in `i32 turn`"},
    {13, "args y, x, counts, a, i32 round\n//@ repeat 3",
     "t.cu:13:31: unknown name round; `repeat COUNT as round` makes it the number of a launch"},
    {13, "args y, x, counts, a, struct (0.5f, n)", "t.cu:13:41: n is a number: say its type, as in `i32 n`"},
    {6, "buffer x float4 n in",
     "t.cu:6:14: found 'float4', expected a type: bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 e4m3 "
     "e5m2; did "
     "you mean f32x4?"},
    {10, "param THREADS 32,64",
     "t.cu:10:19: value '32,64' of THREADS is neither a number nor a plain word: blanks stand between "
     "values"},
    {10, "param THREADS = 32 64",
     "t.cu:10:19: value '=' of THREADS is neither a number nor a plain word: values follow the name"},
    {13, "args y, x, counts, a, f16 n * 100",
     "t.cu:13:31: args `n * 100` is 100000 for THREADS=64 and n=1000, half=500, T=f32, expected a number "
     "that "
     "fits f16"},
    {13, "args y, x, counts, a, i8 n",
     "t.cu:14:15: the default configuration is not legal for the default problem: scale THREADS=64 cannot do "
     "n=1000, half=500, T=f32: `n` is 1000, the limit of i8 is 127 (t.cu:13)"},
    {13, "args y, x, counts, a, bool 2",
     "t.cu:14:15: the default configuration is not legal for the default problem: scale THREADS=64 cannot do "
     "n=1000, half=500, T=f32: `2` is 2, the limit of bool is 1 (t.cu:13)"},
    {13, "args y, x, counts, a, 1.5x",
     "t.cu:13:27: found '1.5x', expected an operand's name, or a type and an expression"},
    {14, "default THREADS=128",
     "t.cu:14:13: bad `default`: 128 is no value of THREADS, expected one of 32 64"},
    {15, "reference scale_refrence",
     "t.cu:15:15: the code has no kernel scale_refrence, which `reference` names; did you mean "
     "scale_reference?"},
    {15, "reference", "t.cu:15:5: `reference` stands alone, expected: reference KERNEL"},
    {15, "reference nosuch", "t.cu:15:15: the code has no kernel nosuch, which `reference` names"},
    {15, "reference scale",
     "t.cu:15:15: scale is what is tuned, and cannot say itself what is right: a reference is another, plain "
     "kernel"},
    {15, "reference 2nd", "t.cu:15:15: found '2nd', expected a name"},
    {16, "",
     "t.cu:15:15: no `block` annotation behind `scale_reference`, expected a line: //@ block EXPRESSION, "
     "..."},
    {17, "",
     "t.cu:15:15: no `grid` annotation behind `scale_reference`, expected a line: //@ grid EXPRESSION, ..."},
    {18, "",
     "t.cu:15:15: no `args` annotation behind `scale_reference`, expected a line: //@ args dst, src, TYPE "
     "EXPRESSION, ..."},
    {16, "block 2000",
     "t.cu:14:15: the default configuration is not legal for the default problem: scale_reference THREADS=64 "
     "cannot do"},
    {18, "args y, z", "t.cu:18:13: found 'z', expected x, y or a type and an expression"},
    {16, "kernel scale_reference",
     "t.cu:15:15: no `block` annotation behind `scale_reference`, expected a line: //@ block EXPRESSION, "
     "..."},
    {18, "args y, x, counts, a, i64 n, i32 half\n//@ launch early",
     "t.cu:15:15: scale_reference says `launch early`, and the code does not wait"},
    {13, "args y, x, counts, a, i64 n\n//@ launch early",
     "t.cu:2:15: scale says `launch early`, and the code does not wait"},
    {18, "args y, x\n//@ reference default",
     "t.cu:19:15: `reference default` stands alone: take it or the other `reference` away"},
    {15, "reference default\n//@ per configuration",
     "t.cu:16:9: `per configuration` needs a kernel as reference, which gets the parameters: the one of "
     "`reference default` is the same for all"},
    {19, "tolerance",
     "t.cu:19:5: `tolerance` stands alone, expected: tolerance [BUFFER] abs NUMBER rel NUMBER"},
    {19, "tolerance abs", "t.cu:19:18: found '', expected a number"},
    {19, "tolerance abs x", "t.cu:19:19: found 'x', expected a number"},
    {19, "tolerance abs -1", "t.cu:19:19: a tolerance is 0 or more"},
    {19, "tolerance absolute 1",
     "t.cu:19:15: found 'absolute', expected exact, abs NUMBER, rel NUMBER or scale NUMBER, or the name of "
     "an "
     "`out` buffer above; did you mean abs?"},
    {19, "tolerance 1e-5",
     "t.cu:19:15: found '1e-5', expected exact, abs NUMBER, rel NUMBER or scale NUMBER"},
    {19, "tolerance exact abs 1",
     "t.cu:19:15: found 'exact', expected exact, abs NUMBER, rel NUMBER or scale NUMBER"},
    {19, "tolerance exact\n//@ tolerance exact", "t.cu:20:5: a second `tolerance`, the first is in line 19"},
    {19, "tolerance y abs 1\n//@ tolerance y rel 1",
     "t.cu:20:5: a second `tolerance`, the first is in line 19"},
    {19, "tolerance x abs 1", "t.cu:19:15: x has no tolerance: it is no `out` or `inout` buffer"},
    {19, "tolerance y", "t.cu:19:16: found '', expected exact, abs NUMBER"},
    {19, "expect x right.bin", "t.cu:19:12: found 'x', expected an `out` or `inout` buffer above"},
    {19, "expect z right.bin", "t.cu:19:12: found 'z', expected an `out` or `inout` buffer above"},
    {19, "expect y ../right.bin",
     "t.cu:19:14: found '../right.bin', expected the name of a file that lies beside this one"},
    {19, "expect y", "t.cu:19:13: found '', expected the name of a file that lies beside this one"},
    {19, "expect y right.bin\n//@ expect y left.bin", "t.cu:20:12: a second `expect` of y"},
    {9, "param A 1 2\n//@ scalar a f32 2.5",
     "t.cu:10:12: a differs only in capitals from A, which is a parameter: choose another name"},
    {19, "expect yy right.bin", "t.cu:19:12: found 'yy', expected an `out` or `inout` buffer above"},
    {20, "metric gbps", "t.cu:20:16: `metric` has an empty expression"},
    {20, "metric gbps n",
     "t.cu:20:17: gbps is to be maximized, but when the time doubles it goes from 1000 to 1000: expected it "
     "to halve"},
    {20, "metric gbps 2 * n / 1000000",
     "t.cu:20:17: the metric gbps comes to 0 for the default problem and a time of 1 ms, expected a number "
     "above 0 (mind"},
    {20, "metric gbps n - n",
     "t.cu:20:17: the metric gbps comes to 0 for the default problem and a time of 1 ms, expected a number "
     "above 0 (mind"},
    {20, "metric gbps 1 / 0",
     "t.cu:20:17: the metric gbps comes to 0 for the default problem and a time of 1 ms, expected a number "
     "above 0 (mind"},
    {20, "metric gbps (SELECT 1)",
     "t.cu:20:18: SELECT is not allowed: an expression is arithmetic and comparisons only"},
    {20, "metric gbps n * time_nn", "t.cu:20:21: unknown name time_nn; did you mean time_ns?"},
    {20, "metric gbps 2 * n * time_ns",
     "t.cu:20:17: gbps is to be maximized, but when the time doubles it goes from 2e+09 to 4e+09: expected "
     "it to halve"},
    {20, "metric gbps 2 * n / time_ns\n//@ metric gbps 1", "t.cu:21:12: a second metric gbps"},
    {20, "metric 2 * n", "t.cu:20:12: found '2', expected a name"},
    {21, "objective gbps", "t.cu:21:15: found 'gbps', expected minimize or maximize"},
    {21, "objective maximise gbps",
     "t.cu:21:15: found 'maximise', expected minimize or maximize; did you mean maximize?"},
    {21, "objective maximize gflops",
     "t.cu:21:24: found 'gflops', expected the name of a `metric` above, or minimize time"},
    {21, "objective maximize gbsp",
     "t.cu:21:24: found 'gbsp', expected the name of a `metric` above, or minimize time; did you mean gbps?"},
    {21, "objective maximize time",
     "t.cu:21:24: found 'time', expected the name of a `metric` above, or minimize time"},
    {21, "objective minimize gbps",
     "t.cu:20:20: gbps is to be minimized, but when the time doubles it goes from 0.008 to 0.004: expected "
     "it to double"},
    {21, "objective minimize time\n//@ objective minimize time",
     "t.cu:22:5: a second `objective`, the first is in line 21"},
    {22, "maxrregcount n", "t.cu:22:18: n is a variable of the problem, and only parameters are known here"},
    {22, "maxrregcount THREADS * 8", "t.cu:22:18: `THREADS * 8` comes to 512, expected 16 to 255 registers"},
    {22, "maxrregcount sm_count",
     "t.cu:22:18: sm_count is a property of the device, and only parameters are known here"},
    {22, "maxrregcount 8", "t.cu:22:18: `8` comes to 8, expected 16 to 255 registers"},
    {22, "maxrregcount 1.5", "t.cu:22:18: `1.5` comes to 1.5, expected 16 to 255 registers"},
    {22, "maxrregcount THREAD", "t.cu:22:18: unknown name THREAD"},
    {22, "maxrregcount (SELECT 32)",
     "t.cu:22:19: SELECT is not allowed: an expression is arithmetic and comparisons only"},
    {22, "maxrregcount 32\n//@ maxrregcount 32",
     "t.cu:23:5: a second `maxrregcount`, the first is in line 22"},
    {23, "options use_fast_math",
     "t.cu:23:13: found 'use_fast_math', expected an option of NVRTC, as in --use_fast_math"},
    {23, "options", "t.cu:23:5: `options` stands alone, expected: options -OPTION ..."},
    {3, "op copy",
     "t.cu:3:8: `op copy` says what is computed, and so do `problem`, `type`, `buffer`, `scalar`, "
     "`reference` and what goes"},
    {3, "op saxpy",
     "t.cu:3:8: `op saxpy` says what is computed, and so do `problem`, `type`, `buffer`, `scalar`, "
     "`reference` and what"},
    {24, "extern \"C\" __global__ void skale(T *y) {}",
     "t.cu:2:15: the code has no kernel scale, which `kernel` names; did you mean skale?"},
    {25, "extern \"C\" __global__ void scale_ref(T *y) {}",
     "t.cu:15:15: the code has no kernel scale_reference, which `reference` names"},
    {3, "problem n 1000\n//@ defines scale", "t.cu:1: `defines` is for the library's own files"},
    {22, "kernel second\n//@ block 32\n//@ args y",
     "t.cu:22:12: no `grid` annotation behind `second`, expected a line: //@ grid EXPRESSION, ..."},
    {22, "kernel second",
     "t.cu:22:12: no `block` annotation behind `second`, expected a line: //@ block EXPRESSION, ..."},
    {22, "buffr z T n in", "t.cu:22:5: unknown annotation 'buffr'; did you mean buffer?"},
    {22, "probelm z 1", "t.cu:22:5: unknown annotation 'probelm'; did you mean problem?"},
    {22, "scaler z f32 1", "t.cu:22:5: unknown annotation 'scaler'; did you mean scalar?"},
    {22, "tolerence exact", "t.cu:22:5: unknown annotation 'tolerence'; did you mean tolerance?"},
    {22, "metrik gbps 1", "t.cu:22:5: unknown annotation 'metrik'; did you mean metric?"},
    {22, "objektive minimize time", "t.cu:22:5: unknown annotation 'objektive'; did you mean objective?"},
    {22, "refrence x", "t.cu:22:5: unknown annotation 'refrence'; did you mean reference?"},
};

static void refuses_damage(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        tt__str line = {0};
        bool annotation = damages[i].line < COUNT(lines) - 1;
        tt__str_addf(&line, "%s%s", annotation && damages[i].instead[0] ? "//@ " : "", damages[i].instead);
        tt__str text = text_with(damages[i].line, line.text);
        tt__template *t = (tt__template *)&text;
        tt_status status = tt__template_parse(&t, "t.cu", text.text);
        if (status != TT_E_TEMPLATE || !strstr(tt_last_error(), damages[i].sentence))
            fail_msg("%s\n  status   %d\n  found    %s\n  expected %s", damages[i].instead, status,
                     tt_last_error(), damages[i].sentence);
        assert_null(t);
        tt__str_free(&line);
        tt__str_free(&text);
    }
}

/* A missing line has no place. All other errors have line and column, which the messages above include. */
static void names_every_place(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(damages); i++) {
        int line = 0, column = 0;
        if (!strstr(damages[i].sentence, "library's own files"))
            assert_int_equal(sscanf(damages[i].sentence, "t.cu:%d:%d:", &line, &column), 2);
    }
}

/* One line is taken away. */
static void says_what_is_missing(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } texts[] = {
        {"//@ problem n 4\n", "t.cu: no `kernel` annotation, expected a line: //@ kernel NAME"},
        {"//@ kernel k\n//@ problem n 4\n//@ block 1\n//@ grid 1\n//@ args i32 n\nextern \"C\" k();",
         "t.cu: no `buffer` annotation, expected a line: //@ buffer NAME TYPE LENGTH in|out|inout|scratch"},
        {"//@ kernel k\n//@ buffer x f32 4 in\n//@ block 1\n//@ grid 1\n//@ args x\nextern \"C\" k();",
         "t.cu: no buffer is `out` or `inout`: nothing would come of it"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ buffer y f32 4 out\n//@ expect x x.bin\n//@ block 1\n//@ "
         "grid 1\n"
         "//@ args x, y\nextern \"C\" k();",
         "t.cu: `expect` names what 1 of 2 result buffers must hold: name the others too, or a `reference`"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ block 1\n//@ args x\nextern \"C\" k();",
         "t.cu: no `grid` annotation, expected a line: //@ grid EXPRESSION, ..."},
        {"//@ kernel k<4\n//@ buffer x f32 4 out\n//@ block 1\n//@ grid 1\n//@ args x\nk();",
         "t.cu:1:12: found 'k<4', expected a '>' that ends what the template is given"},
        {"//@ kernel a::4<4>\n//@ buffer x f32 4 out\n//@ block 1\n//@ grid 1\n//@ args x\nk();",
         "t.cu:1:12: found 'a::4<4>', expected a name"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 4 zeros\n//@ block 1\n//@ grid 1\n//@ "
         "args x, "
         "c\nk();",
         "t.cu:6:13: c is a constant: the code knows it by its name, and it is no argument"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 4 z\n//@ block 1\n//@ grid 1\n//@ args "
         "x\nk();",
         "t.cu:3:22: unknown name z"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 4\n//@ block 1\n//@ grid 1\n//@ args "
         "x\nk();",
         "t.cu:3:20: the code has no array c, which `constant` names"},
        {"//@ kernel k\n//@ buffer x f32 4 out\n//@ constant c f32 4\n//@ block 1\n//@ grid 1\n//@ args "
         "x\nstatic // __constant__\n__constant__\nfloat cc[4], c[4];\nk();",
         "t.cu:3:20: the array c, which `constant` names, is static: take `static` away"},
        {"//@ kernel k\n//@ problem n 1000\n//@ buffer x f32 n out\n//@ where n % 1024 = 0\n//@ block 1\n"
         "//@ grid 1\n//@ args x\n//@ sample n=999\nk();",
         "is not legal for the default problem and the samples: "},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        tt__template *t;
        assert_int_equal(tt__template_parse(&t, "t.cu", texts[i].text), TT_E_TEMPLATE);
        if (!strstr(tt_last_error(), texts[i].sentence))
            fail_msg("found %s\n  expected %s", tt_last_error(), texts[i].sentence);
    }
}

/* Each limit, exceeded by one. `each` is repeated instead of a line, with 'N' as a number. */
static const struct {
    size_t line;
    const char *each;
    int n;
    const char *sentence;
} floods[] = {
    {4, "//@ problem vN 1\n", 40, "t.cu:43:13: more than 40 variables"},
    {8, "//@ buffer bN f32 1 in\n", 63, "t.cu:70:12: more than 64 buffers and scalars"},
    {20, "//@ metric mN 1 / time_ns\n", 5, "t.cu:24:12: more than 4 metrics"},
    {23, "//@ options -DaN\n", 17, "t.cu:39:13: more than 16 options"},
    {22, "//@ kernel kN\n//@ block 1\n//@ grid 1\n//@ args y\n", 8, "t.cu:50:12: more than 8 kernels"},
    {15, "//@ data dN\n//@ block 1\n//@ grid 1\n//@ args y, y, y, y, y, y, y, y, y, y\n", 7,
     "t.cu:42:22: more than 64 arguments"},
    {8, "//@ problem vN 1\n//@ buffer bN i32 n in index v10+v11+v12+v13+v14+v15+v16+v17\n", 8,
     "t.cu:21:31: more than 64 arguments of `data` kernels"},
};

static void keeps_limits(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(floods); i++) {
        tt__str line = {0};
        for (int k = 0; k < floods[i].n; k++)
            for (const char *c = floods[i].each; *c; c++)
                *c == 'N' ? tt__str_addf(&line, "%d", k + 10) : tt__str_addn(&line, c, 1);
        tt__str text = text_with(floods[i].line, line.text);
        tt__template *t;
        tt_status status = tt__template_parse(&t, "t.cu", text.text);
        if (status != TT_E_TEMPLATE || !strstr(tt_last_error(), floods[i].sentence))
            fail_msg("found %s\n  expected %s", tt_last_error(), floods[i].sentence);
        tt__str_free(&line);
        tt__str_free(&text);
    }
}

/* Each keyword of an operation may come first. */
static void begins_with_any(void **state) {
    (void)state;
    static const char *const first[] = {"problem n 1",       "type T f32",
                                        "buffer x f32 4 in", "constant c f32 4 zeros",
                                        "scalar a f32 1",    "reference k",
                                        "verify k",          "data k",
                                        "per configuration", "limit 1",
                                        "expect x f",        "tolerance exact",
                                        "metric m 1",        "objective minimize time",
                                        "require 1",         "macros variables",
                                        "shape n",           "near n 1",
                                        "moves bytes",       "sample n=1",
                                        "prefer k"};
    for (size_t i = 0; i < COUNT(first); i++) {
        char text[64];
        tt__template *t;
        snprintf(text, sizeof text, "//@ %s\n", first[i]);
        assert_int_equal(tt__template_parse(&t, "t.cu", text), TT_E_TEMPLATE);
        assert_null(strstr(tt_last_error(), "`op`"));
    }
}

/* As programs have it. */
static void takes_what_a_launch_says(void **state) {
    static const struct {
        size_t line;
        const char *instead;
    } cases[] = {
        {12, "//@ grid dim3(ceil_div(n, THREADS), 2)"},
        {12, "//@ grid (ceil_div(n, THREADS), 2)"},
        {11, "//@ block dim3(THREADS)\n//@ grid (n + 1) / (2 - 1), 2"},
        {13, "//@ args y, x, counts, a, struct (0.5f, 3, true, 7ull, i64 n, x)"},
        {6, "//@ buffer x T n in uniform -1 1\n//@ buffer in f32 4 in\n//@ buffer more f32 4 in in"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        tt__str text = text_with(cases[i].line, cases[i].instead);
        tt__template *t;
        if (strstr(cases[i].instead, "block")) { /* its grid is there already */
            char *grid = strstr(strstr(text.text, "2 - 1"), "//@ grid");
            memcpy(grid, "// ", 3);
        }
        if (tt__template_parse(&t, "t.cu", text.text) != TT_OK)
            fail_msg("%s\n%s", cases[i].instead, tt_last_error());
        if (cases[i].line == 11 || cases[i].line == 12)
            assert_string_equal(t->passes[0].grid[1].text, "2");
        if (cases[i].line == 13)
            assert_int_equal(t->n_fields, 6);
        tt__template_free(&t);
        tt__str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_a_launch_says),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(names_every_place),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(keeps_limits),
        cmocka_unit_test(begins_with_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
