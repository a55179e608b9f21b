// The tile of a permutation. The library and the kernels share this text: the one counts tiles, the others go through them.
// It is C and C++.
//
// A tile has the innermost dimensions of the source, until they make READ_RUN bytes, and those of the destination, until they
// make WRITE_RUN bytes. The last dimension of each is cut into equal chunks. A dimension of both is counted once.

#ifdef __cplusplus
#define PERMUTE_TILE static __device__ constexpr
#else
#define PERMUTE_TILE static inline
#endif

enum { PERMUTE_DIMS = 16 };

typedef struct permute_shape {
    int elem_size, align;
    long long dim[PERMUTE_DIMS], stride[PERMUTE_DIMS]; // of the destination, the innermost first; strides of the source
} permute_shape;

typedef struct permute_tile {
    int n;                    // dimensions that are not 1
    int order[PERMUTE_DIMS];  // the dimensions in the order of the source, the innermost first
    int size[PERMUTE_DIMS];   // of a tile
    int elements;             // of a tile
    long long tiles;          // in all
    int read_max, write_max;  // bytes of the widest vectors
    // Elements that follow one another in the source, and others in the destination; the innermost dimensions have them.
    int read_dims, write_dims, read_length, write_length;
    // Dimensions that lie whole or in part in a run of the destination, the elements of such a run, bytes of its widest vectors.
    int run_dims, run_length, run_max;
} permute_tile;

// A tensor as a matrix. A row has `inner` elements: the dimensions of the destination up to the innermost one of the source. A tile
// has `across` by `down` elements of `outer` rows. If a row is one element, a tile is
// a run of the destination of as many elements.
typedef struct permute_plane {
    int n, split; // dimensions that are not 1, and those of a row
    long long inner, outer, tiles;
    int across, down;
    int read_max, write_max, pack_max; // bytes of the widest vectors, and of those along a row
} permute_plane;

// At most `limit` of `dim`, in equal chunks, and in whole vectors of `unit` elements if the dimension has such.
PERMUTE_TILE int permute_chunk(long long dim, long long limit, int unit) {
    long long chunks = 1, chunk = dim;
    if (limit < 1)
        limit = 1;
    if (dim <= limit)
        return (int)dim;
    chunks = (dim + limit - 1) / limit;
    chunk = (dim + chunks - 1) / chunks;
    if (dim % unit == 0 && limit % unit == 0)
        chunk = (chunk + unit - 1) / unit * unit;
    return (int)chunk;
}

// The widest vectors along dimension k, up to 16 bytes: they must divide the tile, the dimension and all distances.
PERMUTE_TILE int permute_widest(permute_shape s, permute_tile t, int k, int of_source) {
    int bytes = s.elem_size;
    if (s.stride[k] != 1 && of_source)
        return bytes;
    for (int wide = bytes * 2; wide <= 16 && wide <= s.align; wide *= 2) {
        int count = wide / s.elem_size;
        if (t.size[k] % count || s.dim[k] % count)
            break;
        int fits = 1;
        for (int i = 0; i < t.n && of_source; i++)
            fits = fits && (i == k || s.stride[i] % count == 0);
        if (!fits)
            break;
        bytes = wide;
    }
    return bytes;
}

// The runs of a tile. No dimension is in both; the innermost one is in that of the destination.
PERMUTE_TILE permute_tile permute_add_runs(permute_shape s, permute_tile t) {
    long long dense = 1;
    int is_read[PERMUTE_DIMS] = {0};
    t.read_length = t.write_length = 1;
    for (int i = 0; i < t.n && t.order[i] != 0 && s.stride[t.order[i]] == dense; i++) {
        const int k = t.order[i];
        is_read[k] = 1;
        t.read_length *= t.size[k];
        t.read_dims++;
        dense = t.size[k] < s.dim[k] ? 0 : dense * s.dim[k];
    }
    for (int k = 0; k < t.n && !is_read[k]; k++) {
        t.write_length *= t.size[k];
        t.write_dims++;
        if (t.size[k] < s.dim[k])
            break;
    }
    return t;
}

// The runs of the destination, with all dimensions.
PERMUTE_TILE permute_tile permute_add_whole_run(permute_shape s, permute_tile t) {
    long long whole = 1; // of the tensor
    t.run_length = 1;
    t.run_max = s.elem_size;
    for (int k = 0; k < t.n; k++) {
        t.run_length *= t.size[k];
        whole *= s.dim[k];
        t.run_dims = k + 1;
        if (t.size[k] < s.dim[k])
            break;
    }
    for (int wide = s.elem_size * 2; wide <= 16 && wide <= s.align; wide *= 2)
        if (t.run_length % (wide / s.elem_size) == 0 && whole % (wide / s.elem_size) == 0)
            t.run_max = wide;
    return t;
}

PERMUTE_TILE permute_tile permute_tile_of(permute_shape s, int read_run, int write_run) {
    permute_tile t = {0};
    long long run = s.elem_size;
    int unit = 16 / s.elem_size;
    for (int k = 0; k < PERMUTE_DIMS; k++) {
        t.size[k] = 1;
        if (s.dim[k] > 1)
            t.n = k + 1;
    }
    for (int k = 0; k < t.n; k++) { // insertion sort
        int i = k;
        for (; i > 0 && s.stride[t.order[i - 1]] > s.stride[k]; i--)
            t.order[i] = t.order[i - 1];
        t.order[i] = k;
    }
    for (int i = 0; i < t.n; i++) {
        int k = t.order[i];
        t.size[k] = permute_chunk(s.dim[k], read_run / run, unit);
        run *= t.size[k];
        if (t.size[k] < s.dim[k])
            break;
    }
    run = s.elem_size;
    for (int k = 0; k < t.n; k++) {
        int step = 16, chunk = 0; // so many make whole vectors of 16 bytes
        while (step > 1 && run % (16 / step * 2) == 0)
            step /= 2;
        const long long limit = write_run / run;
        chunk = permute_chunk(s.dim[k], s.dim[k] % step || limit < step ? limit : limit - limit % step, step);
        if (chunk > t.size[k])
            t.size[k] = chunk;
        run *= t.size[k];
        if (t.size[k] < s.dim[k])
            break;
    }
    t.elements = 1;
    t.tiles = 1;
    for (int k = 0; k < t.n; k++) {
        t.elements *= t.size[k];
        t.tiles *= (s.dim[k] + t.size[k] - 1) / t.size[k];
    }
    t.read_max = t.n ? permute_widest(s, t, t.order[0], 1) : s.elem_size;
    t.write_max = t.n ? permute_widest(s, t, 0, 0) : s.elem_size;
    return permute_add_runs(s, permute_add_whole_run(s, t));
}

PERMUTE_TILE permute_plane permute_plane_of(permute_shape s, int read_run, int write_run) {
    permute_plane f = {0};
    const int unit = 16 / s.elem_size;
    int down = read_run / s.elem_size, across = write_run / s.elem_size;
    f.inner = f.outer = 1;
    for (int k = 0; k < PERMUTE_DIMS; k++) {
        if (s.dim[k] > 1)
            f.n = k + 1;
        if (s.dim[k] > 1 && (s.dim[f.split] == 1 || s.stride[k] < s.stride[f.split]))
            f.split = k;
    }
    for (int k = 0; k < f.n; k++)
        if (k < f.split)
            f.inner *= s.dim[k];
        else
            f.outer *= s.dim[k];
    if (f.inner == 1)
        down *= across;
    f.across = permute_chunk(f.inner, across, unit);
    f.down = permute_chunk(f.outer, down, unit);
    f.tiles = ((f.inner + f.across - 1) / f.across) * ((f.outer + f.down - 1) / f.down);
    f.read_max = f.write_max = f.pack_max = s.elem_size;
    for (int wide = 2 * s.elem_size; wide <= 16 && wide <= s.align; wide *= 2) {
        const int count = wide / s.elem_size;
        int reads = s.stride[f.split] == 1 && s.dim[f.split] % count == 0 && f.down % count == 0;
        for (int k = 0; k < f.n; k++)
            reads = reads && (k == f.split || s.dim[k] == 1 || s.stride[k] % count == 0);
        if (reads)
            f.read_max = wide;
        if (f.across % count == 0 && (f.across == f.inner || f.inner % count == 0))
            f.write_max = f.pack_max = wide;
        if (f.across == f.inner && f.inner * f.down % count == 0)
            f.write_max = wide;
    }
    return f;
}
