/* Runs a fuzz target over the files of folders, once each and then so many times with a few bytes changed:
 * replay TIMES FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static unsigned seed = 1;

static void change(tt__str *text) {
    for (unsigned n = 1 + (unsigned)rand_r(&seed) % 4; n && text->len; n--) {
        size_t at = (size_t)rand_r(&seed) % text->len, from = (size_t)rand_r(&seed) % text->len;
        switch (rand_r(&seed) % 4) {
        case 0:
            text->text[at] = (char)rand_r(&seed);
            break;
        case 1:
            text->text[at] ^= (char)(1 << rand_r(&seed) % 8);
            break;
        case 2: /* a piece of itself elsewhere */
            memmove(text->text + at, text->text + from, (text->len - (at > from ? at : from)) % 64);
            break;
        default:
            text->len = rand_r(&seed) % 8 ? text->len : at;
        }
    }
}

static void run(const char *folder, const char *name, int times) {
    tt__str path = {0}, text = {0};
    tt__str_addf(&path, "%s/%s", folder, name);
    for (int i = 0; i <= times; i++) {
        fuzz_want(tt__read_file(&text, path.text) == TT_OK, "a file");
        if (i)
            change(&text);
        LLVMFuzzerTestOneInput((const uint8_t *)tt__str_text(&text), text.len);
        tt__str_free(&text);
    }
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
