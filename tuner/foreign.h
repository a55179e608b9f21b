/* What files of other tuners are read with: the kernel whose space their results must be in, and a GPU. */
#ifndef TT_TUNER_FOREIGN_H
#define TT_TUNER_FOREIGN_H

#include "db/recording.h"
#include "template/template.h"

/* Stands in where no GPU is known. */
tt__gpu tt__typical_gpu(void);

/* Of this template and problem; all is borrowed. A GPU without a name gets that of the file. */
tt__foreign tt__foreign_of(const tt__template *t, const tt__problem *p, const tt__gpu *gpu);

#endif
