/* Runs a fuzz target over the files of folders, once each and then so many times with a few bytes changed:
 * replay TIMES FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_file.h"

static unsigned state = 1;

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    (void)max_size;
    for (unsigned n = 1 + fuzz_random(&state, 4); n && size; n--) {
        size_t at = fuzz_random(&state, size), from = fuzz_random(&state, size);
        switch (fuzz_random(&state, 4)) {
        case 0:
            data[at] = (uint8_t)fuzz_random(&state, 256);
            break;
        case 1:
            data[at] ^= (uint8_t)(1u << fuzz_random(&state, 8));
            break;
        case 2: /* a piece of itself elsewhere */
            memmove(data + at, data + from, (size - (at > from ? at : from)) % 64);
            break;
        default:
            size = fuzz_random(&state, 8) || !at ? size : at;
        }
    }
    return size;
}

/* The file as it is, and then with one change upon the other, but from the start after each eighth. */
static void run(const char *folder, const char *name, int times) {
    tt__str path = {0}, text = {0};
    tt__str_addf(&path, "%s/%s", folder, name);
    fuzz_want(tt__read_file(&text, path.text) == TT_OK, "a file");
    size_t size = text.len, most = 2 * size + 1024;
    uint8_t *data = malloc(most);
    fuzz_want(data != NULL, "memory");
    for (int i = 0; i <= times; i++) {
        if (i % 8 == 0)
            memcpy(data, tt__str_text(&text), size = text.len);
        if (i)
            size = LLVMFuzzerCustomMutator(data, size, most, fuzz_random(&state, 1u << 28));
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    tt__str_free(&text);
    tt__str_free(&path);
}

int main(int argc, char **argv) {
    int files = 0;
    for (int i = 2; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        fuzz_want(folder != NULL, "a folder");
        for (struct dirent *e; (e = readdir(folder));)
            if (e->d_name[0] != '.') {
                run(argv[i], e->d_name, atoi(argv[1]));
                files++;
            }
        closedir(folder);
    }
    printf("%d files\n", files);
    return files ? 0 : 1;
}
