// A launcher file that includes c-ares outside of launcher/dns.
#include <ares.h>
