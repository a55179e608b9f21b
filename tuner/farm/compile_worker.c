/* The compile worker: source in, cubin out. */
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "gpu/nvrtc.h"
#include "tuner/farm/protocol.h"
#include "tuner/farm/roles.h"
#include "tuner/farm/wire.h"

static void fill_done(tt__msg_done *done, tt_status status) {
    done->status = status;
    tt__copy(done->error, sizeof done->error, status == TT_OK ? "" : tt_last_error());
}

/* `top` and `ps -e` say which file a compiler is at: one that takes long, or all memory, is found at once. */
static void be_called(const char *path) {
    const char *slash = strrchr(path, '/');
    prctl(PR_SET_NAME, slash ? slash + 1 : path); /* of which Linux keeps 15 characters */
}

static tt_status compile(const tt__str *request, tt__str *cubin, tt__msg_compiled *reply) {
    size_t at = 0;
    const tt__msg_compile *m = tt__wire_take(request, &at, sizeof *m);
    const char *name = m ? tt__wire_take(request, &at, m->name_size) : NULL;
    const char *source = name ? tt__wire_take(request, &at, m->source_size) : NULL;
    const char *options = source ? tt__wire_take(request, &at, m->options_size) : NULL;
    if (!options)
        return TT_E_IO;
    be_called(name);
    reply->begin_s = tt__now_s();
    tt_status status = tt__nvrtc_compile(cubin, name, source, options, m->n_options, m->cc);
    if (status == TT_E_NO_MEMORY) /* this kernel was too much for it: another may do */
        status = tt__fail(TT_E_COMPILE, "the compiler has run out of memory");
    reply->end_s = tt__now_s();
    be_called("tiletune-worker");
    return status;
}

int tt__compile_worker(void) {
    tt__msg_hello hello = {0};
    fill_done(&hello.done, tt__nvrtc_open());
    tt__copy(hello.nvrtc, sizeof hello.nvrtc, tt__nvrtc_version());
    if (tt__wire_reply(TT__MSG_HELLO, &(struct iovec){&hello, sizeof hello}, 1) != TT_OK)
        return 1;
    if (hello.done.status == TT_OK)
        tt__nvrtc_warm_up(); /* while the driver starts; if it fails, what is asked for will say so */
    tt__str request = {0}, cubin = {0};
    uint32_t type;
    while (tt__wire_recv(TT__WIRE_FD, &type, &request) == TT_OK && type == TT__MSG_COMPILE) {
        tt__msg_compiled reply = {0};
        cubin.len = 0;
        fill_done(&reply.done, compile(&request, &cubin, &reply));
        struct iovec parts[] = {{&reply, sizeof reply}, {cubin.text, cubin.len}};
        if (tt__wire_reply(TT__MSG_COMPILED, parts, 2) != TT_OK)
            break;
    }
    tt__str_free(&request);
    tt__str_free(&cubin);
    return 0;
}
