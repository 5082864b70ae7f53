/* DPDK macros and inline functions as C functions, and port setup in one call each. Declared to Rust in ffi.rs. */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_version.h>

/* Private area of one cache line, so that a frame begins on a cache line; its first word is the tag of port::Slot. */
#define PRIVATE_BYTES RTE_CACHE_LINE_SIZE
#define UNTAGGED UINT32_MAX
#define SMALL_PAGE_BYTES 4096
/* Size of a thread's mbuf cache. */
#define CACHE_SIZE 256

/* Offsets of tag and frame of a send buffer from the start of the mbuf. */
const size_t nd_tag_offset = sizeof(struct rte_mbuf);
const size_t nd_bytes_offset = sizeof(struct rte_mbuf) + PRIVATE_BYTES + RTE_PKTMBUF_HEADROOM;

struct nd_frame {
	const uint8_t *bytes;
	size_t length;
};

struct nd_setup {
	uint16_t rx_slots, tx_slots;  /* requested, then as adjusted by the driver */
	uint16_t frame_bytes;         /* longest frame, without FCS */
	int socket;                   /* NUMA node, or -1 */
};

struct nd_drops {
	uint64_t missed, no_buffer;
};

/* Return a negative errno: DPDK reports errors by return value or by rte_errno. */
static int failure(int result)
{
	if (result < -1)
		return result;
	return rte_errno != 0 ? -rte_errno : -EIO;
}

int nd_eal_init(int argc, char **argv)
{
	if (rte_eal_init(argc, argv) < 0)
		return failure(-1);
	rmdir(rte_eal_get_runtime_dir()); /* created for files that this process does not write */
	return 0;
}

const char *nd_version(void)
{
	return rte_version();
}

int nd_has_huge_pages(void)
{
	return rte_eal_has_hugepages();
}

const char *nd_error_text(int error)
{
	return rte_strerror(error);
}

/* Create the device and return its port; `name` is `device` without its parameters. */
int nd_probe(const char *device, const char *name, uint16_t *port)
{
	int result = rte_dev_probe(device);

	if (result != 0 && result != -EEXIST)
		return failure(result);
	return rte_eth_dev_get_port_by_name(name, port) == 0 ? 0 : -ENODEV;
}

static void untag(struct rte_mempool *pool, void *unused, void *object, unsigned int index)
{
	(void)pool, (void)unused, (void)index;
	*(uint32_t *)rte_mbuf_to_priv(object) = UNTAGGED;
}

struct rte_mempool *nd_pool_create(const char *name, unsigned int count, uint16_t frame_bytes, int socket)
{
	/* Without huge pages, DPDK lets a buffer cross a page boundary only if it is larger than a page: smaller buffers
	 * would all begin at a page boundary and compete for the same few lines of the first-level cache. */
	uint16_t minimum = rte_eal_has_hugepages() ? RTE_MBUF_DEFAULT_DATAROOM : SMALL_PAGE_BYTES;
	uint16_t data_bytes = RTE_PKTMBUF_HEADROOM + RTE_MAX(frame_bytes, minimum);
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, count, CACHE_SIZE, PRIVATE_BYTES, data_bytes, socket);

	if (pool != NULL)
		rte_mempool_obj_iter(pool, untag, NULL);
	return pool;
}

void nd_pool_free(struct rte_mempool *pool)
{
	rte_mempool_free(pool);
}

int nd_error(void)
{
	return failure(-1);
}

/* Limit the setup to the port's capabilities: one queue per direction, with the requested depth if supported. */
int nd_port_describe(uint16_t port, struct nd_setup *setup)
{
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(port, &info);

	setup->socket = rte_eth_dev_socket_id(port);
	if (result == 0)
		setup->rx_slots = RTE_MIN(setup->rx_slots, info.rx_desc_lim.nb_max);
	return result;
}

/* Drivers without an MTU limit, e.g. net_af_packet, still report a longest frame, which DPDK enforces. */
static uint32_t mtu_max(const struct rte_eth_dev_info *info)
{
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (info->max_mtu != UINT16_MAX || info->max_rx_pktlen <= overhead)
		return info->max_mtu;
	return info->max_rx_pktlen - overhead;
}

static int configure(uint16_t port, struct nd_setup *setup)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = { 0 };
	int result = rte_eth_dev_info_get(port, &info);

	if (result != 0)
		return result;
	conf.rxmode.mtu = RTE_MAX(setup->frame_bytes, RTE_ETHER_MTU + RTE_ETHER_HDR_LEN) - RTE_ETHER_HDR_LEN;
	conf.rxmode.mtu = RTE_MIN(conf.rxmode.mtu, mtu_max(&info));
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	result = rte_eth_dev_configure(port, 1, 1, &conf);
	if (result != 0)
		return result;
	return rte_eth_dev_adjust_nb_rx_tx_desc(port, &setup->rx_slots, &setup->tx_slots);
}

int nd_port_start(uint16_t port, struct nd_setup *setup, struct rte_mempool *rx_pool)
{
	int result = configure(port, setup);

	rte_errno = 0; /* not all drivers set it when they return -1 */
	if (result == 0)
		result = rte_eth_rx_queue_setup(port, 0, setup->rx_slots, setup->socket, NULL, rx_pool);
	if (result == 0)
		result = rte_eth_tx_queue_setup(port, 0, setup->tx_slots, setup->socket, NULL);
	if (result == 0)
		result = rte_eth_dev_start(port);
	if (result != 0)
		return failure(result);
	rte_eth_promiscuous_enable(port); /* devices without a MAC filter reject it and do not need it */
	return 0;
}

int nd_link_is_up(uint16_t port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

struct closing {
	uint16_t port;
	atomic_int done;
};

static void stop_and_close(void *argument)
{
	struct closing *closing = argument;

	rte_eth_dev_stop(closing->port);
	rte_eth_dev_close(closing->port);
	atomic_store(&closing->done, 1);
}

/* Also remove the device, so that it can be created again. */
void nd_port_close(uint16_t port)
{
	struct rte_eth_dev_info info;
	int info_result = rte_eth_dev_info_get(port, &info);
	struct closing closing = { .port = port };

	/* memif handles its peer on DPDK's control thread without a lock: close it there, so that both cannot run at once. */
	if (info_result == 0 && strcmp(info.driver_name, "net_memif") == 0 && rte_eal_alarm_set(1, stop_and_close, &closing) == 0) {
		while (!atomic_load(&closing.done))
			usleep(100);
	} else {
		stop_and_close(&closing);
	}
	if (info_result == 0)
		rte_dev_remove(info.device);
}

int nd_drops(uint16_t port, struct nd_drops *drops)
{
	struct rte_eth_stats stats;
	int result = rte_eth_stats_get(port, &stats);

	if (result == 0)
		*drops = (struct nd_drops){ .missed = stats.imissed, .no_buffer = stats.rx_nombuf };
	return result;
}

/* Return 0 if this thread is already a DPDK thread, 1 if it was registered, negative if it cannot be. */
int nd_thread_enter(void)
{
	if (rte_lcore_id() != LCORE_ID_ANY)
		return 0;
	return rte_thread_register() == 0 ? 1 : failure(-1);
}

void nd_thread_leave(void)
{
	rte_thread_unregister();
}

/* Buffers keep their content after sending; nd_tx_send resets the fields that drivers write to. */
unsigned int nd_tx_take(struct rte_mempool *pool, struct rte_mbuf **mbufs, unsigned int count)
{
	return rte_mempool_get_bulk(pool, (void **)mbufs, count) == 0 ? count : 0;
}

unsigned int nd_tx_send(uint16_t port, struct rte_mbuf **mbufs, const uint16_t *lengths, unsigned int count)
{
	unsigned int sent;

	for (unsigned int i = 0; i < count; i++) {
		mbufs[i]->data_off = RTE_PKTMBUF_HEADROOM;
		mbufs[i]->ol_flags = 0;
		mbufs[i]->pkt_len = mbufs[i]->data_len = lengths[i];
	}
	sent = rte_eth_tx_burst(port, 0, mbufs, count);
	if (sent < count)
		rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
	return sent;
}

unsigned int nd_rx_take(uint16_t port, struct rte_mbuf **mbufs, struct nd_frame *frames, unsigned int count)
{
	unsigned int received = rte_eth_rx_burst(port, 0, mbufs, count);

	for (unsigned int i = 0; i < received; i++) {
		frames[i].bytes = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
		frames[i].length = mbufs[i]->data_len;
		rte_prefetch0(frames[i].bytes);
	}
	return received;
}

void nd_rx_give_back(struct rte_mbuf **mbufs, unsigned int count)
{
	rte_pktmbuf_free_bulk(mbufs, count);
}
