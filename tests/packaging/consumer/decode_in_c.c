/* C program that decodes a latent: decode_in_c VAE_FOLDER WIDTH HEIGHT LIMIT_BYTES LATENT.npy PICTURE.ppm */
#include <headroom.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int show_share(void* context, double share) {
  fprintf(stderr, "%3.0f %% of %s\n", 100 * share, (const char*)context);
  return 0; /* another value stops the decode */
}

static int fail(int status) {
  const size_t length = headroom_message(NULL, 0);
  char* message = malloc(length + 1);
  if (message != NULL) {
    headroom_message(message, length + 1);
    fprintf(stderr, "%s\n", message);
  }
  free(message);
  return status;
}

/* Rows of RGB bytes, from fp32 planes of -1 to 1. */
static int write_ppm(const char* name, const float* planes, int64_t width, int64_t height) {
  FILE* file = fopen(name, "wb");
  if (file == NULL) return 1;
  fprintf(file, "P6 %" PRId64 " %" PRId64 " 255\n", width, height);
  for (int64_t i = 0; i < width * height; ++i) {
    for (int channel = 0; channel < 3; ++channel) {
      const float value = 127.5f * (planes[channel * width * height + i] + 1);
      fputc(value < 0 ? 0 : value > 255 ? 255 : (int)(value + 0.5f), file);
    }
  }
  return fclose(file);
}

int main(int argc, char** argv) {
  headroom_job job = {0};
  headroom_result result;
  int64_t latent[5], picture[5];
  int status;
  if (argc < 7) return 1;
  job.question.model = argv[1];
  job.question.width_pixels = atoll(argv[2]);
  job.question.height_pixels = atoll(argv[3]);
  job.question.limit_bytes = atoll(argv[4]);
  job.input_file = argv[5];
  job.progress = show_share;
  job.context = argv[6];
  status = headroom_shapes(&job.question, latent, picture, NULL, 0);
  if (status != HEADROOM_DONE) return fail(status);
  job.output = calloc((size_t)(picture[0] * picture[1] * picture[2] * picture[3] * picture[4]), sizeof(float));
  if (job.output == NULL) return 1;
  status = headroom_decode(&job, &result, NULL, 0);
  if (status == HEADROOM_DONE) {
    printf("%" PRId64 " of %" PRId64 " bytes, %.3f s\n", result.peak_bytes, job.question.limit_bytes, result.seconds);
    status = write_ppm(argv[6], job.output, picture[4], picture[3]);
  } else {
    fail(status);
  }
  free(job.output);
  return status;
}
