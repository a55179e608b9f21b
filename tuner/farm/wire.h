/*
 * Messages between the tuner and its workers: type, size, bytes, over a stream socket. Both ends are from the
 * same build, so structs are sent as they are.
 */
#ifndef TT_TUNER_FARM_WIRE_H
#define TT_TUNER_FARM_WIRE_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/str.h"

enum { TT__WIRE_PARTS_MAX = 128 };

/* Sends one message of n <= TT__WIRE_PARTS_MAX parts completely. TT_E_IO: the other end is closed. */
tt_status tt__wire_send(int fd, uint32_t type, const struct iovec *parts, int n);

/* Sends a worker's reply, and rings the bell after it, or earlier if the socket is full. The tuner polls the
 * bell, not the socket: Linux tends to wake the receiver of a message on the sender's CPU, where the GPU
 * worker would have to wait.
 * TT_E_IO: there is no bell. */
tt_status tt__wire_reply(uint32_t type, const struct iovec *parts, int n);

/* Descriptors that a worker inherits: its socket, and an eventfd that counts its replies. */
enum { TT__WIRE_FD = 3, TT__WIRE_BELL = 4 };

/* Waits for one message, which replaces the payload. TT_E_IO: the other end is closed. */
tt_status tt__wire_recv(int fd, uint32_t *type, tt__str *payload);

/* Takes `size` bytes from a payload at *at. NULL (and TT_E_IO as last error) if there are fewer. */
const void *tt__wire_take(const tt__str *payload, size_t *at, size_t size);

#endif
