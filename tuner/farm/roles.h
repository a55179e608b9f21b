/* The two roles of the worker program. Each serves requests (wire.h) until the tuner closes the socket. */
#ifndef TT_TUNER_FARM_ROLES_H
#define TT_TUNER_FARM_ROLES_H

int tt__compile_worker(void);
int tt__gpu_worker(int ordinal);

#endif
