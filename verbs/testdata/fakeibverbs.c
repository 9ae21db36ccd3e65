/*
 * A libibverbs.so.1 with one device, fake0, in memory. It is compiled against the real header, so a
 * wrong offset on the Go side shows as traffic that does not arrive. The variable FAKE_IBV selects a
 * failure; without it every request is carried out when it is posted.
 */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr

#define MAX_QP 8
#define MAX_MR 8
#define DEPTH 512

struct fake_qp {
	struct ibv_qp qp;
	uint32_t dest;
	struct ibv_sge recv[DEPTH];
	uint64_t recv_id[DEPTH];
	unsigned recv_head, recv_tail;
};

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[DEPTH];
	unsigned head, tail;
};

static struct ibv_device device;
static struct ibv_device *list[2];
static struct fake_qp *qps[MAX_QP];
static struct ibv_mr *mrs[MAX_MR];
static char not_code[64];

static int mode(const char *name)
{
	const char *m = getenv("FAKE_IBV");
	return m && !strcmp(m, name);
}

struct ibv_device **ibv_get_device_list(int *num)
{
	fprintf(stderr, "libibverbs: Warning: this is a fake\n");
	if (mode("enosys")) {
		errno = ENOSYS;
		*num = 0;
		return NULL;
	}
	strcpy(device.name, "fake0");
	strcpy(device.dev_name, "uverbs0");
	list[0] = mode("empty") ? NULL : &device;
	*num = list[0] ? 1 : 0;
	return list;
}

void ibv_free_device_list(struct ibv_device **l) { (void)l; }
const char *ibv_get_device_name(struct ibv_device *d) { return d->name; }

static int poll_cq(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)c;
	int got = 0;

	while (got < n && cq->head != cq->tail)
		wc[got++] = cq->wc[cq->head++ % DEPTH];
	return got;
}

static void complete(struct ibv_cq *c, uint64_t id, enum ibv_wc_status status,
		     enum ibv_wc_opcode op, uint32_t len, uint32_t qpn)
{
	struct fake_cq *cq = (struct fake_cq *)c;
	struct ibv_wc *wc = &cq->wc[cq->tail++ % DEPTH];

	memset(wc, 0xee, sizeof *wc); /* what is not set is not zero */
	wc->wr_id = id;
	wc->status = status;
	wc->opcode = op;
	wc->byte_len = len;
	wc->qp_num = qpn;
	wc->vendor_err = 0x51;
}

static void *where(uint32_t key, uint64_t addr, uint64_t len)
{
	for (int i = 0; i < MAX_MR; i++) {
		struct ibv_mr *m = mrs[i];

		if (m && m->lkey == key && addr >= (uint64_t)m->addr &&
		    addr + len <= (uint64_t)m->addr + m->length)
			return (void *)addr;
	}
	return NULL;
}

static int post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)q;

	if (wr->next || wr->num_sge != 1 || qp->recv_tail - qp->recv_head >= DEPTH) {
		*bad = wr;
		return EINVAL;
	}
	qp->recv[qp->recv_tail % DEPTH] = wr->sg_list[0];
	qp->recv_id[qp->recv_tail++ % DEPTH] = wr->wr_id;
	return 0;
}

static enum ibv_wc_status carry_out(struct fake_qp *qp, struct ibv_send_wr *wr, enum ibv_wc_opcode *op)
{
	struct ibv_sge *s = wr->sg_list;
	void *local = where(s->lkey, s->addr, s->length), *remote;
	struct fake_qp *peer = qps[qp->dest];
	uint64_t old;

	if (mode("completion"))
		return IBV_WC_REM_ACCESS_ERR;
	if (!local && !(wr->send_flags & IBV_SEND_INLINE))
		return IBV_WC_LOC_PROT_ERR;
	local = (void *)s->addr;
	switch (wr->opcode) {
	case IBV_WR_SEND: {
		unsigned i = peer->recv_head % DEPTH;

		if (peer->recv_head == peer->recv_tail)
			return IBV_WC_RNR_RETRY_EXC_ERR;
		peer->recv_head++;
		remote = where(peer->recv[i].lkey, peer->recv[i].addr, s->length);
		if (!remote || s->length > peer->recv[i].length)
			return IBV_WC_REM_OP_ERR;
		memcpy(remote, local, s->length);
		complete(peer->qp.recv_cq, peer->recv_id[i], IBV_WC_SUCCESS, IBV_WC_RECV, s->length, peer->qp.qp_num);
		*op = IBV_WC_SEND;
		break;
	}
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		remote = where(wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, s->length);
		if (!remote)
			return IBV_WC_REM_ACCESS_ERR;
		if (wr->opcode == IBV_WR_RDMA_WRITE)
			memcpy(remote, local, s->length);
		else
			memcpy(local, remote, s->length);
		if (mode("flip") && s->length > 1000)
			((char *)remote)[777] ^= 1;
		*op = wr->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE : IBV_WC_RDMA_READ;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		remote = where(wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, 8);
		if (!remote)
			return IBV_WC_REM_ACCESS_ERR;
		memcpy(&old, remote, 8);
		memcpy(local, &old, 8);
		if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			*op = IBV_WC_FETCH_ADD;
			old += wr->wr.atomic.compare_add;
		} else {
			*op = IBV_WC_COMP_SWAP;
			if (old == wr->wr.atomic.compare_add)
				old = wr->wr.atomic.swap;
		}
		memcpy(remote, &old, 8);
		break;
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
	return IBV_WC_SUCCESS;
}

static int post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = (struct fake_qp *)q;
	enum ibv_wc_opcode op = 0;
	enum ibv_wc_status status;

	if (q->state != IBV_QPS_RTS || wr->next || wr->num_sge != 1 || !(wr->send_flags & IBV_SEND_SIGNALED)) {
		*bad = wr;
		return EINVAL;
	}
	if (mode("hang-traffic"))
		pause();
	status = carry_out(qp, wr, &op);
	complete(q->send_cq, wr->wr_id, status, op, wr->sg_list[0].length, q->qp_num);
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	struct ibv_context *ctx;

	if (mode("crash"))
		*(volatile int *)16 = 1;
	if (mode("abort"))
		abort();
	if (mode("kill"))
		raise(SIGBUS) /* this thread, at once */;
	if (mode("exit"))
		_exit(7);
	if (mode("hang"))
		for (;;)
			pause();
	if (mode("eacces") || mode("ebusy") || mode("enodev")) {
		errno = mode("eacces") ? EACCES : mode("ebusy") ? EBUSY : ENODEV;
		return NULL;
	}
	if (mode("chatty")) {
		const char *text = "provider says hello\n";
		if (write(1, text, strlen(text)) < 0)
			return NULL;
	}
	ctx = calloc(1, sizeof *ctx);
	ctx->device = mode("other-device") ? NULL : d;
	ctx->ops.poll_cq = poll_cq;
	ctx->ops.post_send = mode("null-op") ? NULL : post_send;
	ctx->ops.post_recv = post_recv;
	if (mode("data-op"))
		ctx->ops.post_recv = (void *)not_code;
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx) { free(ctx); return 0; }

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	(void)ctx;
	memset(a, 0, sizeof *a);
	strcpy(a->fw_ver, "16.35.2000");
	a->max_qp_wr = 256;
	a->max_cqe = DEPTH;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 8;
	a->atomic_cap = IBV_ATOMIC_HCA;
	a->phys_port_cnt = 1;
	return 0;
}

int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *a = (struct ibv_port_attr *)compat;

	(void)ctx;
	if (port != 1)
		return EINVAL;
	memset(a, 0, offsetof(struct ibv_port_attr, flags));
	a->state = mode("down") ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	a->active_mtu = IBV_MTU_4096;
	a->max_msg_sz = 1 << 30;
	a->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = calloc(1, sizeof *pd);

	pd->context = ctx;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd) { free(pd); return 0; }

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	if (mode("enomem")) {
		errno = ENOMEM;
		return NULL;
	}
	if (!(access & IBV_ACCESS_LOCAL_WRITE) || !(access & IBV_ACCESS_REMOTE_ATOMIC)) {
		errno = EINVAL;
		return NULL;
	}
	for (int i = 0; i < MAX_MR; i++)
		if (!mrs[i]) {
			struct ibv_mr *m = mrs[i] = calloc(1, sizeof *m);

			m->context = pd->context;
			m->pd = pd;
			m->addr = addr;
			m->length = len;
			m->lkey = m->rkey = 0xabc00 + i;
			return m;
		}
	errno = ENOSPC;
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *m)
{
	for (int i = 0; i < MAX_MR; i++)
		if (mrs[i] == m)
			mrs[i] = NULL;
	free(m);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct fake_cq *cq = calloc(1, sizeof *cq);

	(void)cq_context; (void)channel; (void)vector;
	cq->cq.context = ctx;
	cq->cq.cqe = cqe;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq) { free(cq); return 0; }

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	if (a->qp_type != IBV_QPT_RC || a->cap.max_send_sge != 1 || a->cap.max_recv_sge != 1 ||
	    !a->send_cq || a->send_cq->context != pd->context || a->recv_cq != a->send_cq ||
	    (mode("no-inline") && a->cap.max_inline_data)) {
		errno = EINVAL;
		return NULL;
	}
	for (int i = 1; i < MAX_QP; i++)
		if (!qps[i]) {
			struct fake_qp *q = qps[i] = calloc(1, sizeof *q);

			q->qp.context = pd->context;
			q->qp.pd = pd;
			q->qp.send_cq = a->send_cq;
			q->qp.recv_cq = a->recv_cq;
			q->qp.qp_num = i;
			q->qp.qp_type = a->qp_type;
			return &q->qp;
		}
	errno = ENOSPC;
	return NULL;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct fake_qp *q = (struct fake_qp *)qp;
	static const uint8_t ip[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1 };

	switch (a->qp_state) {
	case IBV_QPS_INIT:
		if (mask != (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) || a->port_num != 1)
			return EINVAL;
		break;
	case IBV_QPS_RTR:
		if (mode("enodata"))
			return ENODATA;
		if (mask != (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
		    qp->state != IBV_QPS_INIT || a->path_mtu != IBV_MTU_4096 || !a->ah_attr.is_global ||
		    a->ah_attr.grh.sgid_index != 3 || memcmp(a->ah_attr.grh.dgid.raw, ip, 16) ||
		    !a->ah_attr.grh.hop_limit || a->ah_attr.port_num != 1 ||
		    a->max_dest_rd_atomic != 8 || !a->min_rnr_timer || !a->rq_psn ||
		    a->dest_qp_num >= MAX_QP || !qps[a->dest_qp_num])
			return EINVAL;
		q->dest = a->dest_qp_num;
		break;
	case IBV_QPS_RTS:
		if (mask != (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ||
		    qp->state != IBV_QPS_RTR || !a->timeout || a->retry_cnt != 7 || !a->rnr_retry ||
		    !a->sq_psn || a->max_rd_atomic != 8)
			return EINVAL;
		break;
	default:
		return EINVAL;
	}
	qp->state = a->qp_state;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	qps[qp->qp_num] = NULL;
	free(qp);
	return 0;
}
