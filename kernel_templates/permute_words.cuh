// What the permutations of 1 and 2 bytes share that read and write words. A tile (permute_tile.cuh) is a matrix: its rows follow the
// source, and each column becomes a run of the destination. A template includes permute.cuh first.

constexpr int width = tile.read_length, height = tile.write_length; // elements of a row, rows
constexpr int part = 4 / ELEM_SIZE;                                  // elements of a word
constexpr int row_words = (width + part - 1) / part, run_words = (height + 2 * part - 2) / part; // a run begins anywhere in a word

// How far an element of a row, or a row, is from the tile's first element: a row in the source, a run in the destination.
template <bool OF_ROW, int I> static __device__ permute_distance permute_distance_of(unsigned index) {
    if constexpr (I < (OF_ROW ? tile.write_dims : tile.read_dims)) {
        constexpr int k = OF_ROW ? I : tile.order[I];
        constexpr unsigned size = tile.size[k];
        constexpr bool last = I == (OF_ROW ? tile.write_dims : tile.read_dims) - 1;
        constexpr permute_distance stride = OF_ROW ? shape.stride[k] : permute_dst_stride(k);
        return (int)(last ? index : index % size) * stride + permute_distance_of<OF_ROW, I + 1>(index / size);
    }
    return 0;
}

// Bytes of the source that a tile reads, from its first element on, if it reads so many words of each row.
static __device__ constexpr long long permute_span(int words) {
    long long last = 0;
    for (int k = 0; k < tile.write_dims; k++)
        last += (tile.size[k] - 1) * shape.stride[k];
    return last * ELEM_SIZE + words * 4LL;
}

// A tile: where it begins, in bytes, the rows and columns that are in the tensor, and whether it can be read as whole words.
struct permute_begin {
    long long src, dst;
    int width, height, inside;
};

// The kernel reads WORDS of each row. The first of them contains the row's first element.
template <int WORDS> static __device__ permute_begin permute_begin_of(long long at) {
    constexpr int across = tile.order[tile.read_dims - 1], down = tile.write_dims - 1;
    constexpr int x = tile.size[across], y = tile.size[down];
    constexpr long long span = permute_span(WORDS), reach = permute_reach() * ELEM_SIZE;
    const permute_start s = permute_start_of(at);
    const long long src = s.src * ELEM_SIZE;
    return {src, s.dst * ELEM_SIZE, s.left[across] < x ? (int)s.left[across] * (width / x) : width,
            s.left[down] < y ? (int)s.left[down] * (height / y) : height,
            src >= 3 && src + span <= reach};
}

// At the tensor's ends. What is in no tensor is not read.
static __device__ unsigned permute_edge_word(const unsigned char *at, const unsigned char *src) {
    const unsigned char *end = src + permute_reach() * ELEM_SIZE;
    unsigned word = 0;
    for (int k = 0; k < 4; k++)
        if (at + k >= src && at + k < end)
            word |= (unsigned)at[k] << 8 * k;
    return word;
}

// Element i of each of the words.
static __device__ unsigned permute_turned(const unsigned *w, int i) {
    if (part == 2)
        return __byte_perm(w[0], w[1], i ? 0x7632 : 0x5410);
    const int pairs = i < 2 ? 0x5140 : 0x7362;
    return __byte_perm(__byte_perm(w[0], w[1], pairs), __byte_perm(w[2], w[3], pairs), i % 2 ? 0x7632 : 0x5410);
}
