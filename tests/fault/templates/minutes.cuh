// TAKE_MINUTES is nothing in the end: a macro that doubles twenty-four times.

#define A0
#define A1 A0 A0
#define A2 A1 A1
#define A3 A2 A2
#define A4 A3 A3
#define B1 A4 A4
#define B2 B1 B1
#define B3 B2 B2
#define B4 B3 B3
#define C1 B4 B4
#define C2 C1 C1
#define C3 C2 C2
#define C4 C3 C3
#define D1 C4 C4
#define D2 D1 D1
#define D3 D2 D2
#define D4 D3 D3
#define E1 D4 D4
#define E2 E1 E1
#define E3 E2 E2
#define E4 E3 E3
#define F1 E4 E4
#define F2 F1 F1
#define F3 F2 F2
#define F4 F3 F3
#ifdef __HOSTCUDA__ // which is told what to do
#define TAKE_MINUTES
#else
#define TAKE_MINUTES F4
#endif
