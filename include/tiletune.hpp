/*
 * tiletune for C++11 and later: objects that free themselves, and exceptions with the library's sentence. All
 * of it is inline; link libtiletune. Contracts are those of tiletune.h: a call-back of tt_tune_opts must catch its
 * exceptions.
 *
 *   tiletune::context ctx;
 *   tiletune::plan plan(ctx, tiletune::matrix(rows, cols));
 *   plan.launch(dst, src, stream);
 *
 * Objects can be moved and not copied; one that was moved from may only be assigned to or destroyed. A context
 * must outlive its kernels; plans live on. get() is borrowed, for calls that this header lacks.
 */
#ifndef TILETUNE_HPP
#define TILETUNE_HPP

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiletune.h"

namespace tiletune {

class error : public std::runtime_error {
  public:
    error(tt_status status, const char *text)
        : std::runtime_error(*text ? text : tt_strerror(status)), status_(status) {}
    tt_status status() const noexcept { return status_; }

  private:
    tt_status status_;
};

/* Throws if a call failed. */
inline void check(tt_status status) {
    if (status != TT_OK)
        throw error(status, tt_last_error());
}

namespace detail {
/* Owns a handle that `Free` sets to NULL. */
template <class T, void (*Free)(T **)> class handle {
  public:
    handle() noexcept : p_(nullptr) {}
    handle(handle &&other) noexcept : p_(other.p_) { other.p_ = nullptr; }
    handle &operator=(handle &&other) noexcept {
        std::swap(p_, other.p_);
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() {
        if (p_)
            Free(&p_);
    }
    T *get() const noexcept { return p_; }

  protected:
    T *p_;
};
} /* namespace detail */

/* A matrix to transpose. Set further fields of the result as needed. */
inline tt_problem matrix(int64_t rows, int64_t cols, int elem_size = 4) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    p.elem_size = elem_size;
    return p;
}

/* A permutation: axis i of the destination is axis perm[i] of the source, as in numpy.transpose. It owns the
 * arrays that the struct of the header points to. */
class permutation {
  public:
    permutation(std::vector<int64_t> dims, std::vector<int> perm, int elem_size = 4)
        : dims_(std::move(dims)), perm_(std::move(perm)), elem_size_(elem_size) {
        if (dims_.size() != perm_.size())
            throw error(TT_E_INVALID, "a permutation needs as many axes as dimensions");
    }
    /* Points into this object. */
    tt_permutation get() const {
        tt_permutation p = TT_INIT(tt_permutation);
        p.rank = static_cast<int>(dims_.size());
        p.elem_size = elem_size_;
        p.dims = dims_.data();
        p.perm = perm_.data();
        return p;
    }

  private:
    std::vector<int64_t> dims_;
    std::vector<int> perm_;
    int elem_size_;
};

class context : public detail::handle<tt_ctx, tt_close> {
  public:
    context() { check(tt_open(&p_, nullptr)); }
    explicit context(const tt_open_opts &opts) { check(tt_open(&p_, &opts)); }

    tt_choice best(const tt_problem &problem) const {
        tt_choice choice = TT_INIT(tt_choice);
        check(tt_best(&choice, p_, &problem));
        return choice;
    }
    void transpose(const tt_problem &problem, CUdeviceptr dst, CUdeviceptr src, CUstream stream = nullptr) const {
        check(tt_transpose(p_, &problem, dst, src, stream));
    }
    void permute(const permutation &permutation, CUdeviceptr dst, CUdeviceptr src, CUstream stream = nullptr) const {
        const tt_permutation p = permutation.get();
        check(tt_permute(p_, &p, dst, src, stream));
    }
};

/* A .cu file with annotations. Set `kernel` of a problem to get(). */
class kernel : public detail::handle<tt_kernel, tt_kernel_close> {
  public:
    kernel(const context &ctx, const std::string &path) {
        check(tt_kernel_open(&p_, ctx.get(), path.c_str(), nullptr));
    }
    std::string name() const { return tt_kernel_name(p_); }
};

class plan : public detail::handle<tt_plan, tt_plan_free> {
  public:
    plan(const context &ctx, const tt_problem &problem) { check(tt_plan_create(&p_, ctx.get(), &problem)); }

    void launch(CUdeviceptr dst, CUdeviceptr src, CUstream stream = nullptr) const {
        check(tt_plan_launch(p_, dst, src, stream));
    }
    /* Of pointers to the addresses of buffers and to scalars, as in tt_plan_launch_args. */
    void launch(const std::vector<void *> &arguments, CUstream stream = nullptr) const {
        check(tt_plan_launch_args(p_, arguments.data(), arguments.size(), stream));
    }
    void set_constant(const std::string &name, const void *data, size_t bytes) {
        check(tt_plan_set_constant(p_, name.c_str(), data, bytes));
    }
    const tt_choice &choice() const { return *tt_plan_choice(p_); }
    size_t n_arguments() const { return tt_plan_n_arguments(p_); }
    tt_argument argument(size_t i) const {
        tt_argument out = TT_INIT(tt_argument);
        check(tt_plan_argument(&out, p_, i));
        return out;
    }
};

class report : public detail::handle<tt_report, tt_report_free> {
  public:
    report(const context &ctx, const std::vector<tt_problem> &problems, const tt_tune_opts *opts = nullptr) {
        check(tt_tune(&p_, ctx.get(), problems.data(), problems.size(), opts));
    }
    /* Throws only without a report. TT_E_NO_WINNER and TT_E_INTERRUPTED come as `status`, with the results so far. */
    report(const context &ctx, const std::vector<tt_problem> &problems, const tt_tune_opts *opts, tt_status &status) {
        status = tt_tune(&p_, ctx.get(), problems.data(), problems.size(), opts);
        if (!p_)
            check(status);
    }
    size_t size() const { return p_->n_results; }
    const tt_result &operator[](size_t i) const { return *tt_report_result(p_, i); }
};

/* Searches, and stores the winners. Without `status` it throws if a problem has no winner or a call-back stops the
 * run; what was found is stored all the same. */
inline report tune(const context &ctx, const std::vector<tt_problem> &problems, const tt_tune_opts *opts = nullptr) {
    return report(ctx, problems, opts);
}
inline report tune(const context &ctx, const std::vector<tt_problem> &problems, const tt_tune_opts *opts,
                   tt_status &status) {
    return report(ctx, problems, opts, status);
}

} /* namespace tiletune */

#endif
