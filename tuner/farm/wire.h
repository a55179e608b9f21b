/* Messages between the tuner and its workers: type, size, bytes, over a stream socket. Both ends are of
 * one build, so structs travel as they are. */
#ifndef TT_TUNER_FARM_WIRE_H
#define TT_TUNER_FARM_WIRE_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/str.h"

enum { TT__WIRE_PARTS_MAX = 128 };

/* Sends one message made of n <= TT__WIRE_PARTS_MAX parts, all of it. TT_E_IO if the other end is gone. */
tt_status tt__wire_send(int fd, uint32_t type, const struct iovec *parts, int n);

/* Sends a reply from a worker and rings the bell after it, or as soon as the socket is full. The tuner
 * polls the bell, not the socket: Linux tends to wake the receiver of a message on the sender's CPU, and
 * the GPU worker would have to wait. TT_E_IO if there is no bell. */
tt_status tt__wire_reply(uint32_t type, const struct iovec *parts, int n);

/* What a worker inherits: its socket, and an eventfd that counts its replies. */
enum { TT__WIRE_FD = 3, TT__WIRE_BELL = 4 };

/* Waits for one message and replaces the payload by it. TT_E_IO if the other end is gone. */
tt_status tt__wire_recv(int fd, uint32_t *type, tt__str *payload);

/* Takes `size` bytes off a payload, starting at *at; NULL (and TT_E_IO as last error) if there are less. */
const void *tt__wire_take(const tt__str *payload, size_t *at, size_t size);

#endif
