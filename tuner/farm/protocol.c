/*
 * Sends and receives whole messages.
 */
#include "tuner/farm/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1 << 30 };

typedef struct header {
    uint32_t type, size;
} header;

static tt_status gone(const char *what) {
    return tt__fail(TT_E_IO, "worker %s: %s", what, errno ? strerror(errno) : "it has ended");
}

static tt_status ring(void) {
    return eventfd_write(TT__WIRE_BELL, 1) == 0 ? TT_OK : gone("bell");
}

/* The bell rings once: after the message, or when the rest must wait for a reader. */
static tt_status send_all(int fd, uint32_t type, const struct iovec *parts, int n, bool rings) {
    struct iovec iov[TT__WIRE_PARTS_MAX + 1];
    header h = {type, 0};
    if (n > TT__WIRE_PARTS_MAX)
        return tt__fail(TT_E_INTERNAL, "message of %d parts", n);
    iov[0] = (struct iovec){&h, sizeof h};
    for (int i = 0; i < n; i++) {
        iov[i + 1] = parts[i];
        h.size += (uint32_t)parts[i].iov_len;
    }
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n + 1};
    while (msg.msg_iovlen) {
        ssize_t sent = sendmsg(fd, &msg, MSG_NOSIGNAL | (rings ? MSG_DONTWAIT : 0));
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && rings && errno == EAGAIN) {
            TT_TRY(ring());
            rings = false;
            continue;
        }
        if (sent < 0)
            return gone("send");
        while (msg.msg_iovlen && (size_t)sent >= msg.msg_iov->iov_len) {
            sent -= (ssize_t)msg.msg_iov->iov_len;
            msg.msg_iov++;
            msg.msg_iovlen--;
        }
        if (msg.msg_iovlen) {
            msg.msg_iov->iov_base = (char *)msg.msg_iov->iov_base + sent;
            msg.msg_iov->iov_len -= (size_t)sent;
        }
    }
    return rings ? ring() : TT_OK;
}

tt_status tt__wire_send(int fd, uint32_t type, const struct iovec *parts, int n) {
    return send_all(fd, type, parts, n, false);
}

tt_status tt__wire_reply(uint32_t type, const struct iovec *parts, int n) {
    return send_all(TT__WIRE_FD, type, parts, n, true);
}

static tt_status read_all(int fd, void *out, size_t size) {
    while (size) {
        ssize_t n = read(fd, out, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = 0;
        if (n <= 0)
            return gone("receive");
        out = (char *)out + n;
        size -= (size_t)n;
    }
    return TT_OK;
}

tt_status tt__wire_recv(int fd, uint32_t *type, tt__str *payload) {
    header h;
    char chunk[8192];
    payload->len = 0;
    TT_TRY(read_all(fd, &h, sizeof h));
    if (h.size > MESSAGE_MAX)
        return tt__fail(TT_E_IO, "worker receive: message of %u bytes", h.size);
    *type = h.type;
    for (size_t left = h.size; left;) {
        size_t n = left < sizeof chunk ? left : sizeof chunk;
        TT_TRY(read_all(fd, chunk, n));
        tt__str_addn(payload, chunk, n);
        left -= n;
    }
    return tt__str_check(payload);
}

const void *tt__wire_take(const tt__str *payload, size_t *at, size_t size) {
    if (size > payload->len - *at) {
        tt__fail(TT_E_IO, "worker message of %zu bytes is too short", payload->len);
        return NULL;
    }
    const void *p = payload->text + *at;
    *at += size;
    return p;
}
