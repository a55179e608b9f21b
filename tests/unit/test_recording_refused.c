/* Recordings: everything that can be wrong with a file. */
#include "db/exchange/recording.h"

#include "store_fixture.h"

#define assert_says(words)                                                                                   \
    do {                                                                                                     \
        if (!strstr(tt_last_error(), words))                                                                 \
            fail_msg("\"%s\" does not say \"%s\"", tt_last_error(), words);                                  \
    } while (0)

static tt_status open_it(tt__recording **r) {
    return tt__recording_open(r, in_dir("r.json"));
}

#define GPU                                                                                                  \
    "{\"name\":\"G\",\"mig\":\"\",\"cc\":90,\"sm_count\":1,\"memory_bytes\":1,\"l2_bytes\":1,"               \
    "\"max_threads_per_block\":1024,\"shared_per_block\":1,\"peak_gbps\":0}"
#define ENV "{\"driver\":\"1\",\"nvrtc\":\"2\",\"library\":\"3\"}"
#define PROBLEM                                                                                              \
    "{\"op\":\"transpose\",\"rows\":8,\"cols\":8,\"lds\":8,\"ldd\":8,\"elem_size\":4,\"align\":16}"
#define RESULT                                                                                               \
    "{\"kernel\":\"k\",\"problem\":0,\"stage\":\"screen\",\"configuration\":{\"A\":1},"                      \
    "\"invalidity\":\"correct\",\"correctness\":1,\"times\":{\"compilation_time\":1,\"runtimes\":[0.5]},"    \
    "\"measurements\":[{\"name\":\"time\",\"value\":0.5,\"unit\":\"ms\"}]}"
#define FLAT "{\"op\":\"saxpy\",\"elem\":\"f32\",\"n\":8,\"text\":\"ab\"}"
#define WHOLE                                                                                                \
    "{\"schema_version\":\"1.0.0\",\"metadata\":{\"format\":1,\"gpu\":" GPU ",\"environment\":" ENV          \
    ",\"kernels\":{\"k\":\"h\"},\"problems\":[" PROBLEM "]},\"results\":[" RESULT "," RESULT "]}"

/* Replaces the last occurrence of `from`, so that changes to a result hit results[1]. */
static void write_changed(const char *from, const char *to) {
    const char *at = NULL;
    for (const char *p = WHOLE; (p = strstr(p, from)); p++)
        at = p;
    if (!at)
        fail_msg("no %s", from);
    tt__str text = {0};
    tt__str_addn(&text, WHOLE, (size_t)(at - WHOLE));
    tt__str_add(&text, to);
    tt__str_add(&text, at + strlen(from));
    write_file(in_dir("r.json"), text.text, text.len);
    tt__str_free(&text);
}

/* Problems as format 2 has them; both results of the file are of the first one. */
static void refuses_bad_problems(void **state) {
    (void)state;
    static const struct {
        const char *problem, *says;
    } cases[] = {
        {FLAT, NULL},
        {"{\"op\":\"solo\"}", NULL},
        {"{\"op\":\"copy\",\"bytes\":17592186044416,\"warm\":true,\"unverified\":false}", NULL},
        {"{}", "op is missing"},
        {"{\"n\":8}", "op is missing"},
        {"7", "is integer: expected an object"},
        {"{\"op\":7}", "op is integer"},
        {"{\"op\":\"\"}", "op has 0 bytes"},
        {"{\"op\":\"saxpy/n=4\"}", "op is \"saxpy/n=4\""},
        {"{\"op\":\"s\",\"text\":\"../x\"}", "text is \"../x\""},
        {"{\"op\":\"s\",\"text\":1}", "text is integer"},
        {"{\"op\":\"s\",\"warm\":1}", "warm is integer"},
        {"{\"op\":\"s\",\"unverified\":\"true\"}", "unverified is text"},
        {"{\"op\":\"s\",\"n\":0}", "n is 0"},
        {"{\"op\":\"s\",\"n\":-1}", "n is -1"},
        {"{\"op\":\"s\",\"n\":17592186044417}", "n is 17592186044417"},
        {"{\"op\":\"s\",\"n\":99999999999999999999}", "n is "},
        {"{\"op\":\"s\",\"n\":1.5}", "n is real"},
        {"{\"op\":\"s\",\"n\":[1]}", "n is array"},
        {"{\"op\":\"s\",\"n\":null}", "n is null"},
        {"{\"op\":\"s\",\"T\":\"f31\"}", "T is \"f31\""},
        {"{\"op\":\"s\",\"a b\":1}", "named \"a b\""},
        {"{\"op\":\"s\",\"n\":1,\"n\":1}", "n is there twice"},
        {"{\"op\":\"s\",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1}",
         "named \"aaaa"},
        {"{\"op\":\"s\",\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,"
         "\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,\"r\":1,\"s\":1,\"t\":1,\"u\":1,\"v\":1,"
         "\"w\":1,\"x\":1,\"y\":1,\"z\":1,\"A\":1,\"B\":1,\"C\":1,\"D\":1,\"E\":1,\"F\":1,\"G\":1,\"H\":1,"
         "\"I\":1,\"J\":1,\"K\":1,\"L\":1,\"M\":1,\"N\":1,\"O\":1}",
         "more than 40"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__recording *r;
        tt__str text = {0};
        tt__str_addf(&text,
                     "{\"schema_version\":\"1.0.0\",\"metadata\":{\"format\":2,\"gpu\":" GPU
                     ",\"environment\":" ENV ",\"kernels\":{\"k\":\"h\"},\"problems\":[" FLAT
                     ",%s]},\"results\":[" RESULT "]}",
                     cases[i].problem);
        write_file(in_dir("r.json"), text.text, text.len);
        tt__str_free(&text);
        tt_status status = open_it(&r);
        if (status != (cases[i].says ? TT_E_INVALID : TT_OK))
            fail_msg("%s: %s: %s", cases[i].problem, tt_strerror(status), tt_last_error());
        if (cases[i].says) {
            assert_says(cases[i].says);
            assert_says("r.json: metadata.problems[1]: ");
        }
        tt__recording_close(&r);
    }
}

static void refuses_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"schema_version\":\"1.0.0\"", "\"schema_version\":1", "schema_version is integer"},
        {"\"schema_version\":\"1.0.0\"", "\"schema_version\":\"2.0.0\"", "2.0.0"},
        {"\"schema_version\":\"1.0.0\",", "", "schema_version is missing"},
        {"\"format\":1", "\"format\":3", "upgrade"},
        {"\"format\":1,", "", "T4 of another tuner"},
        {"\"format\":1", "\"format\":0", "metadata.format is 0"},
        {"\"gpu\":", "\"gpv\":", "metadata.gpu is missing"},
        {"\"unit\":\"ms\"", "\"unit\":\"ns\"",
         "results[1]: measurements: the unit of time is \"ns\": expected ms"},
        {"\"unit\":\"ms\"", "\"unit\":\"parsec\"", "the unit of time is \"parsec\""},
        {"\"correctness\":1", "\"correctness\":0",
         "results[1]: correctness is 0, but invalidity \"correct\""},
        {"\"format\":1", "\"format\":1,\"date\":\"2999-01-01T00:00:00Z\"", "metadata.date is in the future"},
        {"\"kernel\":\"k\"", "\"kernel\":\"k\\u0000x\"", "a text has a NUL character at offset"},
        {"\"gpu\":" GPU, "\"gpu\":3", "metadata.gpu: is integer"},
        {"\"name\":\"G\"", "\"name\":\"\"", "metadata.gpu: name has 0 bytes"},
        {"\"name\":\"G\"", "\"name\":{\"a\":1}", "name is object"},
        {"\"cc\":90", "\"cc\":1e10", "cc is real"},
        {"\"cc\":90", "\"cc\":99999999999999999999", "cc is 1e+20"},
        {"\"cc\":90", "\"cc\":true", "cc is true"},
        {"\"sm_count\":1,", "", "sm_count is missing"},
        {"\"sm_count\":1,", "\"sm_count\":-1,", "sm_count is -1"},
        {"\"peak_gbps\":0", "\"peak_gbps\":1e999", "peak_gbps is inf"},
        {"\"peak_gbps\":0", "\"peak_gbps\":null", "peak_gbps is null"},
        {"\"environment\":" ENV ",", "", "metadata.environment is missing"},
        {"\"nvrtc\":\"2\"", "\"nvrtc\":\"01234567890123456\"", "nvrtc has 17 bytes"},
        {"\"kernels\":{\"k\":\"h\"},", "", "metadata.kernels is missing"},
        {"\"kernels\":{\"k\":\"h\"}", "\"kernels\":{\"k\":1}", "metadata.kernels: \"k\""},
        {"\"problems\":[" PROBLEM "]", "\"problems\":{}", "metadata.problems is object"},
        {"\"problems\":[" PROBLEM "]", "\"problems\":[7]", "metadata.problems[0]: is integer"},
        {"\"problems\":[" PROBLEM "]", "\"problems\":[]",
         "results[0]: problem is 0: metadata.problems has 0"},
        {"\"rows\":8", "\"rows\":0", "metadata.problems[0]: rows is 0"},
        {"\"rows\":8", "\"rows\":10000000000000", "src_stride is 80000000000000"},
        {"\"rows\":8,\"cols\":8,\"lds\":8", "\"rows\":10000000000000,\"cols\":8,\"lds\":10000000000000",
         "10000000000000 is too large"},
        {"\"elem_size\":4", "\"elem_size\":17", "elem_size is 17"},
        {"\"rows\":8,", "", "metadata.problems[0]: rows is missing"},
        {"\"op\":\"transpose\"", "\"op\":\"/warm\"", "op is \"\""},
        {"\"op\":\"transpose\"", "\"op\":\"a b\"", "op is \"a b\""},
        {"\"op\":\"transpose\"", "\"op\":\"k/n\"", "op has \"n\""},
        {"\"op\":\"transpose\"", "\"op\":\"k/n=1,\"", NULL},
        {"\"op\":\"transpose\"", "\"op\":\"k/n=1,n=-2\"", "op has n=-2"},
        {"\"op\":\"transpose\"", "\"op\":\"k/n=99999999999999999\"", "op has n=99999999999999999"},
        {"\"op\":\"transpose\"", "\"op\":\"k/n=-2\"", "op has n=-2"},
        {"\"op\":\"transpose\"",
         "\"op\":\"k/"
         "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1,r=1,s=1,t=1,u=1,v=1,w=1,x=1,y="
         "1,z=1,A=1,B=1,C=1,D=1,E=1,F=1,G=1,H=1,I=1,J=1,K=1,L=1,M=1,N=1,O=1\"",
         "more than 40"},
        {"\"results\":", "\"result\":", "results is missing"},
        {RESULT "]}", "5]}", "results[1]: is integer"},
        {RESULT "]}", "\"text\"]}", "results[1]: is text"},
        {"\"kernel\":\"k\",", "", "results[1]: kernel is missing"},
        {"\"kernel\":\"k\"", "\"kernel\":[]", "results[1]: kernel is array"},
        {"\"problem\":0", "\"problem\":1", "results[1]: problem is 1"},
        {"\"problem\":0", "\"problem\":-1", "results[1]: problem is -1"},
        {"\"problem\":0", "\"problem\":0.5", "results[1]: problem is real"},
        {"\"stage\":\"screen\"", "\"stage\":\"last\"", "results[1]: stage is \"last\""},
        {"\"invalidity\":\"correct\"", "\"invalidity\":\"maybe\"", "results[1]: invalidity is \"maybe\""},
        {"\"invalidity\":\"correct\",", "", "results[1]: invalidity is missing"},
        {"\"correctness\":1", "\"status\":\"crashed\"", "results[1]: status is \"crashed\""},
        {"\"correctness\":1", "\"status\":\"fine\"", "results[1]: status is \"fine\""},
        {"\"compilation_time\":1", "\"compilation_time\":-2", "results[1]: times.compilation_time is -2"},
        {"\"times\":{", "\"times\":7,\"timex\":{", "results[1]: times is integer: expected an object"},
        {"\"times\":{", "\"times\":{},\"timex\":{", "results[1]: times.compilation_time is missing"},
        {"[0.5]", "[0.5,\"x\"]", "results[1]: times.runtimes[1] is text"},
        {"[0.5]", "[-1]", "results[1]: times.runtimes[0] is -1"},
        {"[0.5]", "[1e300]", "results[1]: times.runtimes[0] is 1e300"},
        {"[0.5]", "[[1]]", "results[1]: times.runtimes[0] is array"},
        {"\"value\":0.5", "\"value\":\"0.5\"", "results[1]: measurements: time is text"},
        {"\"value\":0.5", "\"value\":0", "results[1]: measurements has no time above 0"},
        {"\"value\":0.5,", "", "results[1]: measurements: time is missing"},
        {"\"measurements\":[{", "\"measurements\":[1,\"two\",[],{", NULL}, /* others may add theirs */
        {"\"configuration\":{\"A\":1}", "\"configuration\":{\"A\":1.5}",
         "results[1]: configuration.A is real"},
        {"\"configuration\":{\"A\":1}", "\"configuration\":{\"A\":{}}",
         "results[1]: configuration.A is object"},
        {"\"configuration\":{\"A\":1}", "\"configuration\":{\"A\":1,\"B\":1,\"A\":2}",
         "results[1]: configuration has A twice"},
        {RESULT "]}", "]}", "results[1] is not valid JSON"},
        {RESULT "]}", RESULT ",]}", "results[2] is not valid JSON"},
        {RESULT "]}", RESULT " " RESULT "]}", "results[1] is not valid JSON"},
        {"\"problem\":0", "\"problem\":00", "results[1] is not valid JSON"},
        {"\"problems\":[" PROBLEM "]", "\"problems\":[" PROBLEM ",,]",
         "metadata.problems[1] is not valid JSON"},
        {"\"correctness\":1", "\"weight\":0", "results[1]: weight is 0"},
        {"\"correctness\":1", "\"weight\":2e100", "results[1]: weight is 2e+100"},
        {"\"correctness\":1", "\"weight\":1e-100", NULL},
        {"\"correctness\":1", "\"weight\":1e100", NULL},
        {"\"correctness\":1", "\"correctness\":1,\"new_member\":[1]", NULL},
    };
    tt__recording *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_changed(cases[i].from, cases[i].to);
        tt_status status = open_it(&r);
        if (status != (cases[i].says ? TT_E_INVALID : TT_OK))
            fail_msg("%s -> %s: %s: %s", cases[i].from, cases[i].to, tt_strerror(status), tt_last_error());
        if (cases[i].says) {
            assert_null(r);
            assert_says(cases[i].says);
            assert_says(dir);
        }
        tt__recording_close(&r);
    }
}

static void refuses_too_many_samples(void **state) {
    (void)state;
    tt__recording *r;
    for (int n = TT__SAMPLES_MAX; n <= TT__SAMPLES_MAX + 1; n++) {
        tt__str runtimes = {0};
        for (int i = 0; i < n; i++)
            tt__str_add(&runtimes, i ? ",1" : "[1");
        tt__str_add(&runtimes, "]");
        write_changed("[0.5]", runtimes.text);
        tt__str_free(&runtimes);
        assert_int_equal(open_it(&r), n > TT__SAMPLES_MAX ? TT_E_INVALID : TT_OK);
        tt__recording_close(&r);
    }
    assert_says("results[1]: times.runtimes has more than 128");
}

static void refuses_what_is_no_json(void **state) {
    (void)state;
    static const char deep[] = "[[[[[[[[";
    static const struct {
        const char *text;
        size_t size;
    } cases[] = {{"", 0},
                 {"{", 1},
                 {"x", 1},
                 {"\xff\xfe", 2},
                 {WHOLE "\0", sizeof WHOLE},
                 {deep, 8},
                 {"{} {}", 5},
                 {"{[\"a\"]: 1}", 10}, /* these two are JSON to SQLite 3.40 */
                 {"{\"\\\"]\":[1,{\"a\":2, {\"b\":\"c\"}:3}]}", 32}};
    tt__recording *r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(in_dir("r.json"), cases[i].text, cases[i].size);
        assert_int_equal(open_it(&r), TT_E_INVALID);
        assert_says("JSON");
        assert_says(dir);
    }
    static const char *const others[] = {"[]", "{}", "null", "\"text\"", "17", "{\"result\":[]}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        write_file(in_dir("r.json"), others[i], strlen(others[i]));
        assert_int_equal(open_it(&r), TT_E_INVALID);
        assert_says("not a recording");
    }
    assert_int_equal(tt__recording_open(&r, "/no/such/file.json"), TT_E_IO);
    assert_int_equal(tt__recording_open(&r, "/tmp"), TT_E_IO);
}

static void survives_damage(void **state) {
    (void)state;
    static const char bytes[] = "{}[]\",:0919-+eE.ntf\\u\x80\xff \n";
    unsigned seed = 7;
    tt__recording *r;
    size_t size = strlen(WHOLE);
    int opened = 0;
    const int rounds = getenv("TT_LONG") ? 3000 : 250;
    for (int round = 0; round < rounds; round++) {
        char text[sizeof WHOLE];
        memcpy(text, WHOLE, sizeof WHOLE);
        size_t n = round % 5 == 0 ? (size_t)rand_r(&seed) % size : size;
        for (int i = rand_r(&seed) % 4; i > 0; i--)
            text[(size_t)rand_r(&seed) % size] = bytes[(size_t)rand_r(&seed) % (sizeof bytes - 1)];
        write_file(in_dir("r.json"), text, n);
        tt_status status = open_it(&r);
        if (status != TT_OK && status != TT_E_INVALID)
            fail_msg("%s: %s\n%.*s", tt_strerror(status), tt_last_error(), (int)n, text);
        opened += status == TT_OK;
        tt__recording_close(&r);
    }
    assert_true(opened > rounds / 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(refuses_bad_files),       TEST(refuses_bad_problems), TEST(refuses_too_many_samples),
        TEST(refuses_what_is_no_json), TEST(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
