/*
 * GPU workers: started, given a problem and trials, lost, given up. A worker has the index of its GPU.
 */
#ifndef TT_TUNER_BACKEND_GPU_GPUS_H
#define TT_TUNER_BACKEND_GPU_GPUS_H

#include "tuner/backend/gpu/loop.h"

/* Sends its problem to a GPU's worker, or starts the worker if there is none. */
tt_status tt__loop_open_problem(tt__loop *l, size_t gpu);
/* Takes a report from a GPU's worker. A worker that has lost its CUDA context is unusable. */
tt_status tt__loop_adopt(tt__loop *l, size_t gpu, const tt__msg_done *done);
/* A worker told its GPU. The first one of the run decides what is searched, and later ones have to be like
 * it. */
tt_status tt__loop_described(tt__loop *l, size_t gpu);
/* A problem's arrays are ready, or could not be prepared. */
tt_status tt__loop_opened(tt__loop *l, size_t gpu);
/* Requests a job's trial. If the worker is busy, this trial is next. */
void tt__loop_ask_trial(tt__loop *l, size_t gpu, size_t job, const char *waited_for);
/* A trial has ended. */
tt_status tt__loop_tried(tt__loop *l, size_t gpu, tt__job *j);
/* Tells the caller of the run. */
void tt__loop_say(const tt__loop *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for each line of a text, after the path of a file. */
void tt__loop_say_lines(const tt__loop *l, const char *path, const char *lines);
/* Reports falling clocks once, and counts them for the summary. */
void tt__loop_note_falls(tt__loop *l, size_t gpu, const tt__clock_falls *falls);
/* A GPU's worker died or is unusable. Its jobs wait for another worker. */
void tt__loop_drop_gpu(tt__loop *l, size_t gpu);
/* Gives up a GPU that others can replace, and says so. Fails with `status` if it is the last. */
tt_status tt__loop_give_up(tt__loop *l, size_t gpu, tt_status status);
/* A worker died, or took too long. */
tt_status tt__loop_lost_gpu(tt__loop *l, const tt__event *e);

#endif
