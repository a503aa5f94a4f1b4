/*
 * Predicts the memory and time of a VAE decode, plans how to run it in less memory, and runs it. For programs
 * in C, and in any language that can call C.
 *
 *   headroom_question question = {.model = "sdxl", .width_pixels = 1024, .height_pixels = 1024,
 *                                 .limit_bytes = 1342177280};
 *   headroom_prediction prediction;
 *   char message[256];
 *   int status = headroom_predict(&question, &prediction, message, sizeof message);
 *
 * Every function may be called from any thread. There is no initialization and no shutdown. Functions print
 * nothing. Strings are UTF-8. A decode or encode writes two kinds of files: one in scratch_folder, removed at
 * the end, and the times that later predictions learn from (HEADROOM_CACHE=off turns this off).
 *
 * Compiles as C99 and as C++. Link -lheadroom, or in CMake headroom::headroom of find_package(headroom).
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEADROOM_API __attribute__((visibility("default")))

/* Return values of the functions; equal to the exit codes of the programs. */
enum {
  HEADROOM_DONE = 0,
  HEADROOM_BAD_INPUT = 2,    /* the message names the field and what was expected */
  HEADROOM_STOPPED = 1,      /* headroom_job.progress returned another value than 0 */
  HEADROOM_DOES_NOT_FIT = 3, /* no plan fits limit_bytes */
  HEADROOM_FAILURE = 5       /* no memory left, or a file or device that failed */
};

/* A decode. Start from {0}: a field that is 0 or NULL means the default in brackets. */
typedef struct headroom_question {
  /* A built-in name ("sdxl"), a folder with config.json or with vae/config.json, a .safetensors checkpoint,
   * or the text of a config.json itself, which begins with '{'. Required. */
  const char* model;
  int64_t width_pixels, height_pixels; /* of the picture; required */
  int64_t frames;                      /* of the clip [1] */
  int64_t batch;                       /* pictures or clips in one decode [1] */
  const char* dtype;                   /* "fp32", "bf16" or "fp16" ["fp32"] */
  const char* device;                  /* "cpu" or "cuda" ["cpu"] */
  int64_t limit_bytes;                 /* device memory for the decode, weights included [no limit] */
  const char* direction;               /* "decode" or "encode" ["decode"] */
  const char* scratch_folder;          /* CPU: a folder on a disk for tensors that do not fit [none] */
  int64_t host_limit_bytes;            /* GPU: host memory for tensors that do not fit [none] */
  const char* profile;                 /* a file of headroom-profile; times come from it [assumed speeds] */
} headroom_question;

typedef struct headroom_prediction {
  int64_t untiled_bytes;  /* peak of diffusers' untiled decode, weights included */
  int64_t smallest_bytes; /* the smallest limit under which there is a plan */
  int64_t peak_bytes;     /* peak of the fastest plan within limit_bytes; 0 if none fits */
  double seconds;         /* its time, from assumed speeds; 0 if none fits */
  int64_t passes;         /* number of passes over the picture; 0 if none fits */
} headroom_prediction;

/*
 * Predicts the decode. Returns HEADROOM_DOES_NOT_FIT if no plan fits, but still sets untiled_bytes and
 * smallest_bytes. `message` receives one line, truncated to `message_bytes` including the terminating 0. It
 * is empty on success. It may be NULL, since headroom_message() has the whole line. Takes milliseconds to
 * seconds, depending on the model's size.
 */
HEADROOM_API int headroom_predict(const headroom_question* question, headroom_prediction* prediction,
                                  char* message, size_t message_bytes);

/*
 * Plans the decode. Sets `*plan_json` to the text of a plan file, the format that `headroom-plan -o` writes
 * and `headroom-decode --plan` reads. The caller frees it with headroom_free(). It is NULL unless the
 * function returns HEADROOM_DONE. `message` works as above. If nothing fits, it lists changes that would
 * help.
 */
HEADROOM_API int headroom_plan(const headroom_question* question, char** plan_json, char* message,
                               size_t message_bytes);

HEADROOM_API void headroom_free(char* text);

/* Part of an output: half-open ranges of frames, rows and columns of one picture or clip of the batch. */
typedef struct headroom_region {
  int64_t item;
  int64_t first_frame, frames_end;
  int64_t first_row, rows_end;
  int64_t first_column, columns_end;
} headroom_region;

/* A decode or encode to run. Start from {0}. */
typedef struct headroom_job {
  headroom_question question; /* its direction is that of the function */
  const char* weights;        /* a file or folder with weights [the model's own folder] */
  /* fp32 values, N×C×T×H×W in C order: the latent as the VAE takes it, without a pipeline's scaling, or the
   * picture from -1 to 1. NULL: input_file. */
  const float* input;
  const char* input_file; /* for a decode: a latent in .npy, .safetensors, .pt or .latent */
  /* Receives fp32 values, N×C×T×H×W in C order: the picture, or what the encoder makes (of most VAEs the
   * means and then the log-variances). Required. Undefined unless the function returns HEADROOM_DONE. */
  float* output;
  int threads; /* [one for each processor] */
  /* Called from time to time with the share that is done, from 0 to 1. Another value than 0 ends the run. */
  int (*progress)(void* context, double share);
  /* Called when a region of `output` has its values. */
  void (*region)(void* context, const headroom_region* region);
  void* context; /* passed to both functions */
} headroom_job;

typedef struct headroom_result {
  int64_t peak_bytes;           /* measured: weights, tensors and workspace */
  int64_t predicted_peak_bytes; /* of the plan */
  double seconds;               /* measured, without planning */
  double predicted_seconds;     /* of the plan */
} headroom_result;

/* Sets the shapes of headroom_job's input and output: N, C, T, H, W. T is 1 for pictures. */
HEADROOM_API int headroom_shapes(const headroom_question* question, int64_t input_shape[5],
                                 int64_t output_shape[5], char* message, size_t message_bytes);

/*
 * Plans and runs a decode or an encode. `result` may be NULL. Several calls in one process run one after
 * another. The limit does not cover `input` and `output`. `message` works as above.
 */
HEADROOM_API int headroom_decode(const headroom_job* job, headroom_result* result, char* message,
                                 size_t message_bytes);
HEADROOM_API int headroom_encode(const headroom_job* job, headroom_result* result, char* message,
                                 size_t message_bytes);

/*
 * Copies the message of this thread's last call, which is empty if it returned HEADROOM_DONE, and returns its
 * length without the terminating 0. With NULL and 0 it copies nothing: call it again with a buffer of the
 * length and 1.
 */
HEADROOM_API size_t headroom_message(char* text, size_t text_bytes);

/* "0.1.0" */
HEADROOM_API const char* headroom_version(void);

#ifdef __cplusplus
}
#endif

#endif
